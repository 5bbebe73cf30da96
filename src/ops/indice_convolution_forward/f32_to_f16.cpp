#include "primitives/narrow.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/narrow.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "primitives/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// Items: rows.
void narrow_rows(const NarrowArgs& args, int64_t begin, int64_t end, Task&) {
  const hn::CappedTag<float, 16> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = begin; row < end; ++row) {
    const float* from = args.from + row * args.columns;
    Half* to = args.to + row * args.stride;
    int64_t c = 0;
    for (; c + lanes <= args.columns; c += lanes) store_float(hn::LoadU(d, from + c), d, to + c);
    for (; c < args.columns; ++c) to[c] = mluop::to_half(from[c]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {

HWY_EXPORT(narrow_rows);

void narrow(Context& context, const NarrowArgs& args) {
  const int64_t bytes = args.rows * args.columns * int64_t{sizeof(float) + sizeof(Half)};
  launch(context, choose_task_dim(args.rows, bytes), Evenly{args.rows}, HWY_DYNAMIC_DISPATCH(narrow_rows), args);
}

}  // namespace mluop
#endif
