#include "ops/three_interpolate_backward/plan.h"

#include <algorithm>
#include <limits>

#include "core/boundary.h"
#include "core/dtype.h"
#include "core/half.h"
#include "core/sizes.h"
#include "core/text.h"
#include "ops/three_interpolate_backward/tile.h"

namespace mluop::three_interpolate_backward {
namespace {

// Outputs from here on bypass the caches: half of a server core's share of the last level.
constexpr int64_t kStreamBytes = 8 << 20;

int64_t index_bytes(const Args& args) { return args.index_count() * int64_t{sizeof(int32_t)}; }

int64_t bytes_moved(const Args& args) {
  const auto element = static_cast<int64_t>(size_of(args.dtype));
  return index_bytes(args) + (args.index_count() + args.B * args.C * (args.N + args.M)) * element;
}

// The most features that fit NRAM.
template <class T>
int64_t most_features(const Context& context) {
  constexpr int64_t kSide = Tiling::kChannels;
  constexpr auto kLeast = static_cast<int64_t>(Tile<T>::bytes(kSide));
  constexpr auto kStep = static_cast<int64_t>(Tile<T>::bytes(2 * kSide)) - kLeast;
  const auto capacity = static_cast<int64_t>(context.nram_capacity);
  if (capacity < kLeast) {
    throw Failure(MLUOP_STATUS_ALLOC_FAILED,
                  text("MLUOP_OMP_NRAM_KB is ", capacity / 1024, ", expected room for a tile of ", kSide,
                       " features: ", kLeast, " bytes"));
  }
  return kSide + (capacity - kLeast) / kStep * kSide;
}

// Throws Failure if there is a bad index.
void check_indices(Context& context, const Plan& plan, const Args& args) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  auto* first_bad =
      reinterpret_cast<int64_t*>(context.reserve_pool(static_cast<size_t>(plan.check_task_dim) * sizeof(int64_t)));
  std::fill_n(first_bad, plan.check_task_dim, kNone);
  launch(context, plan.check_task_dim, Evenly{args.index_count()}, check_kernel(),
         {args.indices, args.M, first_bad});
  const int64_t bad = *std::min_element(first_bad, first_bad + plan.check_task_dim);
  if (bad == kNone) return;
  throw Failure(MLUOP_STATUS_BAD_PARAM, text("indices[", bad / 3 / args.N, ", ", bad / 3 % args.N, ", ", bad % 3,
                                             "] is ", args.indices[bad], ", expected 0 to ", args.M - 1));
}

}  // namespace

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  const int64_t side = Tiling::kChannels;
  const int64_t most =
      args.dtype == MLUOP_DTYPE_HALF ? most_features<Half>(context) : most_features<float>(context);
  const int64_t pieces = ceil_div(args.M, side);
  const int64_t columns = args.B * ceil_div(args.C, side);
  plan.task_dim = choose_task_dim(columns * pieces, bytes_moved(args));
  plan.check_task_dim = choose_task_dim(args.index_count(), index_bytes(args));
  // Each chunk of features reads all points of its batch: more than NRAM asks for only where tasks would be idle.
  const int64_t chunks = std::max(ceil_div(args.M, most), std::min(ceil_div(plan.task_dim, columns), pieces));
  plan.tiling.features = ceil_div(pieces, chunks) * side;
  plan.tiling.stream = bytes_moved(args) >= kStreamBytes;
  return plan;
}

void run(Context& context, const Plan& plan, const Args& args) {
  context.reserve_nram(plan.task_dim);
  check_indices(context, plan, args);
  launch(context, plan.task_dim, Evenly{plan.tiling.items(args)}, accumulate_kernel(args.dtype),
         {args, plan.tiling});
}

}  // namespace mluop::three_interpolate_backward
