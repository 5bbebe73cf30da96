#include "primitives/indices/check_indices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/indices/check_indices.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/simd.h"
#include "primitives/indices/find_bad_index-inl.h"

#ifndef MLUOP_PRIMITIVES_CHECK_INDICES_RANGE
#define MLUOP_PRIMITIVES_CHECK_INDICES_RANGE
namespace mluop {

struct CheckRangeArgs : CheckIndicesArgs {
  FirstBadItem& first_bad;
};

}  // namespace mluop
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// Work items: indices.
void check_range(const CheckRangeArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t bad = find_bad_index(args.indices, begin, end, args.limit);
  if (bad < end) args.first_bad.report(bad);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {
namespace {

// Speed of checking an index, relative to moving its bytes.
constexpr int64_t kCheckSpeed = 4;

}  // namespace

HWY_EXPORT(check_range);

FirstBadItem check_indices(Context& context, const CheckIndicesArgs& args) {
  FirstBadItem first_bad;
  const int task_dim = choose_task_dim(args.count, args.count * int64_t{sizeof(int32_t)} / kCheckSpeed);
  launch(context, "check_indices", task_dim, Evenly{args.count}, MLUOP_DISPATCH(check_range), {args, first_bad});
  return first_bad;
}

}  // namespace mluop
#endif
