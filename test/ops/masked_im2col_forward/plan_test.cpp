// What mluOpMaskedIm2colForward decides before it runs, and how it divides the work.
#include <gtest/gtest.h>

#include <climits>
#include <vector>

#include "ops/masked_im2col_forward/packed_plane.h"
#include "ops/masked_im2col_forward/plan.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using masked_im2col_forward::Args;
using masked_im2col_forward::Block;
using masked_im2col_forward::make_plan;
using masked_im2col_forward::PackedPlane;
using masked_im2col_forward::Plan;

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
  return make_plan(context, args);
}

TEST(OpsMaskedIm2colForwardPlan, PacksWhereItPaysAndFits) {
  const ScopedThreads threads(2);
  EXPECT_TRUE(plan_of(args_of(4, 256, 20, 20, 200, 3)).packed);
  EXPECT_TRUE(plan_of(args_of(2, 256, 20, 20, 200, 1)).packed);
  EXPECT_TRUE(plan_of(args_of(4, 256, 100, 152, 4000, 3)).packed);
  EXPECT_FALSE(plan_of(args_of(4, 256, 100, 152, 4, 3)).packed) << "few masks";
  EXPECT_FALSE(plan_of(args_of(4, 256, 100, 152, 4000, 3), 128).packed) << "little scratch memory";
  EXPECT_FALSE(plan_of(args_of(4, 1, 4, 4, 100, 100000)).packed) << "zeros for a large kernel";
  Args tall = args_of(4, 1, 1, 1, 1, INT_MAX);
  tall.kernel_w = 1;
  EXPECT_FALSE(plan_of(tall).packed) << "offsets beyond int32";
}

TEST(OpsMaskedIm2colForwardPlan, StreamsLargeOutputs) {
  EXPECT_FALSE(plan_of(args_of(4, 256, 20, 20, 200, 3)).stream);
  EXPECT_TRUE(plan_of(args_of(4, 256, 100, 152, 4000, 3)).stream);
}

// Every tile fits, down to the least NRAM that MLUOP_OMP_NRAM_KB allows.
TEST(OpsMaskedIm2colForwardPlan, TilesFitNram) {
  for (const int32_t element_size : {2, 4}) {
    for (const int64_t masks : {1, 15, 16, 17, 100, 479, 481, 100000}) {
      for (size_t kib = 1; kib < 300; kib += kib < 20 ? 1 : 37) {
        const Args args = args_of(element_size, 64, 16, 17, masks, 3);
        const Plan plan = plan_of(args, kib);
        const auto tile = static_cast<size_t>(plan.tile_masks), located = static_cast<size_t>(plan.located_masks);
        EXPECT_GT(tile, 0U);
        EXPECT_EQ(plan.tile_masks % args.line_masks(), 0);
        if (plan.packed) {
          EXPECT_GE(located, tile);
          EXPECT_EQ(plan.located_masks % args.line_masks(), 0);
        }
        const size_t places = plan.packed ? nram_bytes<int32_t>(located) : nram_bytes<int64_t>(tile);
        const size_t planes =
            plan.packed ? nram_bytes<std::byte>(static_cast<size_t>(PackedPlane(args).bytes())) : 0;
        EXPECT_LE(planes + places + nram_bytes<std::byte>(tile * 16), kib * 1024)
            << masks << " masks, KiB " << kib;
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
          const Range items = split(args.item_count(), task_dim, task);
          for_each_group(args, items.begin, items.end, [&](const Block& block) {
            EXPECT_EQ(block.first_channel % 4, 0);
            EXPECT_EQ(block.first_mask % 16, 0);
            for (int64_t c = block.first_channel; c < block.first_channel + block.channel_count; ++c) {
              for (int64_t k = block.first_mask; k < block.first_mask + block.mask_count; ++k) {
                ++visits[static_cast<size_t>(c * masks + k)];
              }
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
