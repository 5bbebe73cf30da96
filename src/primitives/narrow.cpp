#include "primitives/narrow.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/narrow.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "primitives/half-inl.h"

#ifndef MLUOP_PRIMITIVES_NARROW_ARGS
#define MLUOP_PRIMITIVES_NARROW_ARGS
namespace mluop {

struct NarrowArgs {
  const float* from;
  Half* to;
};

}  // namespace mluop
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// Items: elements.
void narrow_range(const NarrowArgs& args, int64_t begin, int64_t end, Task&) {
  const hn::CappedTag<float, 16> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) store_float(hn::LoadU(d, args.from + i), d, args.to + i);
  for (; i < end; ++i) args.to[i] = mluop::to_half(args.from[i]);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {

HWY_EXPORT(narrow_range);

void narrow(Context& context, const float* from, int64_t count, Half* to) {
  const int64_t bytes = count * int64_t{sizeof(float) + sizeof(Half)};
  launch<NarrowArgs>(context, choose_task_dim(count, bytes), Evenly{count}, HWY_DYNAMIC_DISPATCH(narrow_range),
                     {from, to});
}

}  // namespace mluop
#endif
