// The plan of mluOpMaskedIm2colForward, and the division of its work items.
#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

#include "ops/masked_im2col_forward/masked_im2col_forward.h"
#include "ops/masked_im2col_forward/masked_im2col_forward_native_kernels.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

namespace native = masked_im2col_forward::native;
using masked_im2col_forward::Args;
using native::Plan;

Args args_of(int32_t element_size, int64_t channels, int64_t height, int64_t width, int64_t mask_cnt,
             int64_t kernel) {
  Args args{};
  args.element_size = element_size;
  args.channels = channels;
  args.height = height;
  args.width = width;
  args.mask_cnt = mask_cnt;
  args.kernel_h = args.kernel_w = kernel;
  return args;
}

Plan plan_of(const Args& args, size_t nram_kib = 640) {
  Context context;
  context.nram_capacity = nram_kib * 1024;
  return native::make_plan(context, args);
}

TEST(OpsMaskedIm2colForwardPlan, PacksWherePlanesFitAndMasksAreMany) {
  const ScopedThreads threads(2);
  EXPECT_TRUE(plan_of(args_of(4, 256, 20, 20, 200, 3)).packed);
  EXPECT_TRUE(plan_of(args_of(2, 256, 20, 20, 200, 1)).packed);
  EXPECT_TRUE(plan_of(args_of(4, 256, 100, 152, 4000, 3)).packed);
  EXPECT_FALSE(plan_of(args_of(4, 256, 100, 152, 4, 3)).packed) << "few masks";
  EXPECT_FALSE(plan_of(args_of(4, 256, 100, 152, 4000, 3), 128).packed) << "little NRAM";
  EXPECT_FALSE(plan_of(args_of(4, 1, 4, 4, 100, 100000)).packed) << "zeros for a large kernel";
  Args tall = args_of(4, 1, 1, 1, 1, INT_MAX);
  tall.kernel_w = 1;
  EXPECT_FALSE(plan_of(tall).packed) << "offsets beyond int32";
}

TEST(OpsMaskedIm2colForwardPlan, StreamsLargeOutputs) {
  EXPECT_FALSE(plan_of(args_of(4, 256, 20, 20, 200, 3)).stream);
  EXPECT_TRUE(plan_of(args_of(4, 256, 100, 152, 4000, 3)).stream);
}

// Tiles are the largest that fit NRAM, from 1 KiB, the smallest NRAM, on.
TEST(OpsMaskedIm2colForwardPlan, LargestTilesThatFitNram) {
  constexpr int64_t kMaxTileMasks = 480;
  for (const int32_t element_size : {2, 4}) {
    for (const int64_t masks : {1, 15, 16, 17, 100, 479, 481, 100000}) {
      for (size_t kib = 1; kib < 300; kib += kib < 20 ? 1 : 37) {
        SCOPED_TRACE(std::to_string(masks) + " masks, KiB " + std::to_string(kib));
        const Args args = args_of(element_size, 64, 16, 17, masks, 3);
        const Plan plan = plan_of(args, kib);
        const native::PackedPlane plane(args);
        const int64_t line = native::line_masks(args), tile = plan.tile_masks, located = plan.located_masks;
        const auto fits = [&](int64_t located_masks, int64_t tile_masks) {
          return (plan.packed ? bytes_of<native::PackedBuffers>(plane, located_masks, tile_masks)
                              : bytes_of<native::DirectBuffers>(tile_masks)) <= kib * 1024;
        };
        EXPECT_GT(tile, 0);
        EXPECT_EQ(tile % line, 0);
        EXPECT_TRUE(fits(located, tile));
        EXPECT_TRUE(tile == kMaxTileMasks || tile >= masks || !fits(tile + line, tile + line));
        if (!plan.packed) continue;
        EXPECT_GE(located, tile);
        EXPECT_EQ(located % line, 0);
        EXPECT_TRUE(located >= masks || !fits(located + line, tile));
      }
    }
  }
}

// Tasks visit each mask of each channel once, in whole groups and lines.
TEST(OpsMaskedIm2colForwardPlan, TasksShareChannelsAndMasks) {
  for (const int64_t channels : {1, 4, 5, 37}) {
    for (const int64_t masks : {1, 16, 17, 203}) {
      const Args args = args_of(4, channels, 5, 5, masks, 1);
      for (const int task_dim : {1, 2, 3, 7, 64}) {
        std::vector<int> visits(static_cast<size_t>(channels * masks));
        for (int task = 0; task < task_dim; ++task) {
          const Range items = split(native::item_count(args), task_dim, task);
          native::for_each_chunk(args, items.begin, items.end, [&](const native::Chunk& chunk) {
            EXPECT_EQ(chunk.channels.begin % 4, 0);
            EXPECT_EQ(chunk.masks.begin % 16, 0);
            for (int64_t c = chunk.channels.begin; c < chunk.channels.end; ++c) {
              for (int64_t k = chunk.masks.begin; k < chunk.masks.end; ++k)
                ++visits[static_cast<size_t>(c * masks + k)];
            }
          });
        }
        EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test
