#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/locate_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "ops/voxel_pooling_forward/kernels.h"
#include "ops/voxel_pooling_forward/locate-inl.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward {
namespace HWY_NAMESPACE {

// The number of a cell; kNowhere for no cell.
template <class D>
HWY_INLINE hn::Vec<D> number_of(D d, const CellOrder& order, hn::Vec<D> cell) {
  const auto nowhere = hn::Lt(cell, hn::Zero(d));
  const auto tile = hn::IfThenZeroElse(nowhere, hn::ShiftRightSame(cell, order.shift));
  const auto rank = hn::GatherIndex(d, order.ranks, tile);
  const auto place = hn::And(cell, hn::Set(d, (int32_t{1} << order.shift) - 1));
  const auto number = hn::Or(hn::ShiftLeftSame(rank, order.shift), place);
  return hn::IfThenElse(nowhere, hn::Set(d, static_cast<int32_t>(Located::kNowhere)), number);
}

// Renumbers the cells of a block, in place.
HWY_INLINE Located::Block renumber(const CellOrder& order, int64_t count, uint32_t* numbers) {
  const hn::CappedTag<int32_t, Located::kBlockPoints> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto nowhere = hn::Set(du, Located::kNowhere);
  auto lowest = nowhere;
  auto highest = hn::Zero(du);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto cell = hn::BitCast(d, hn::LoadU(du, numbers + i));
    const auto number = hn::BitCast(du, number_of(d, order, cell));
    hn::StoreU(number, du, numbers + i);
    lowest = hn::Min(lowest, number);
    highest = hn::Max(highest, hn::IfThenZeroElse(hn::Eq(number, nowhere), number));
  }
  Located::Block block{hn::GetLane(hn::MinOfLanes(du, lowest)), hn::GetLane(hn::MaxOfLanes(du, highest))};
  for (const hn::CappedTag<int32_t, 1> one; i < count; ++i) {
    const auto cell = hn::Set(one, static_cast<int32_t>(numbers[i]));
    numbers[i] = static_cast<uint32_t>(hn::GetLane(number_of(one, order, cell)));
    if (numbers[i] == Located::kNowhere) continue;
    block.lowest = std::min(block.lowest, numbers[i]);
    block.highest = std::max(block.highest, numbers[i]);
  }
  return block;
}

void locate(const LocateArgs& args, int64_t begin, int64_t end, Task& task) {
  constexpr int64_t kBlock = Located::kBlockPoints;
  auto* memo_tile = task.nram.take<int32_t>(static_cast<size_t>(args.tile_points) * 3);
  const int64_t points_end = std::min(end * kBlock, args.call.total_points());
  for (int64_t point = begin * kBlock; point < points_end; point += args.tile_points) {
    const int64_t count = std::min<int64_t>(args.tile_points, points_end - point);
    uint32_t* numbers = args.located.numbers + point;
    int32_t* memo = args.call.pos_memo + point * 3;
    locate_points(args.call, point, count, reinterpret_cast<int32_t*>(numbers), args.stream ? memo_tile : memo);
    if (args.stream) mluop::HWY_NAMESPACE::stream_copy(memo, memo_tile, static_cast<size_t>(count) * 3);
    for (int64_t i = 0; i < count; i += kBlock) {
      args.located.blocks[(point + i) / kBlock] = renumber(args.order, std::min(kBlock, count - i), numbers + i);
    }
  }
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_forward {

HWY_EXPORT(locate);

RangeKernel<LocateArgs> locate_kernel() { return HWY_DYNAMIC_DISPATCH(locate); }

}  // namespace mluop::voxel_pooling_forward
#endif
