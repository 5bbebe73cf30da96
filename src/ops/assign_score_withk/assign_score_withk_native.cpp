// Assign score with k: the launches of the native algorithm. Forward is one launch over the rows of all batches.
// Backward sorts the rows of each batch by their points, then takes one batch after the other: one launch
// transposes its gradients and computes the gradients of scores, two more add the rows of each point and center.
#include "ops/assign_score_withk/assign_score_withk.h"

#include <algorithm>
#include <array>

#include "core/caches.h"
#include "core/checks.h"
#include "ops/assign_score_withk/assign_score_withk_native_kernels.h"
#include "primitives/indices/point_indices.h"
#include "primitives/sort/counting_sort.h"
#include "team/fit_tile.h"

namespace mluop::assign_score_withk::native {
namespace {

// Rows of a tile: their results stay in L2 and fill lines of the output.
constexpr int64_t kMaxTileRows = 256;

int64_t input_bytes(const Inputs& args) {
  const auto element = static_cast<int64_t>(size_of(args.dtype));
  const int64_t matrices = args.B * args.N0 * args.matrix() * element, rows = args.B * args.rows();
  return total_bytes({matrices, matrices, rows * args.M * element, rows * int64_t{sizeof(int32_t)}});
}

int64_t output_bytes(const Inputs& args) {
  return args.B * args.rows() * args.O * static_cast<int64_t>(size_of(args.dtype));
}

void check_indices_of(Context& context, const Inputs& args) {
  const std::array shape{args.B, args.N1, args.K};
  check_point_indices(context, "knn_idx", {args.knn_idx, args.B * args.rows(), args.N0}, shape);
}

int64_t fit_rows(const Context& context, const Inputs& args) {
  const int64_t wanted = std::min(ceil_div(args.rows(), kStripChannels), kMaxTileRows / kStripChannels);
  return kStripChannels * fit_tile(context, wanted, [&](int64_t strips) {
           return dispatch_dtype(args.dtype, [&](auto element) {
             return bytes_of<AssembleTile<decltype(element)>>(strips * kStripChannels, args.O);
           });
         });
}

struct Memory {
  Memory(Arena& arena, const Sizes& sizes)
      : stride(round_up(sizes.O, kStripChannels)),
        of_points(arena, sizes.B, sizes.N0, sizes.rows()),
        of_centers(arena, sizes.B, sizes.N0, sizes.K > 0 ? sizes.N1 : 0),
        transposed(
            arena.take<float>("transposed gradients", {round_up(sizes.rows(), BatchArgs::kTileRows), stride})) {}

  int64_t stride;
  RowLists of_points, of_centers;
  float* transposed;
};

struct SortArgs : Inputs {
  const Memory& memory;
};

// Work items: batches.
void sort_rows(const SortArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t b = begin; b < end; ++b) {
    args.memory.of_points.sort(b, args.indices_of(b), 1);
    args.memory.of_centers.sort(b, args.indices_of(b), args.K);
  }
}

}  // namespace

void RowLists::sort(int64_t b, const int32_t* indices, int64_t step) const {
  sort_on_one_task(
      rows, points, [&](int64_t row) { return indices[row * step]; }, starts + b * (points + 1),
      sorted + b * rows);
}

void run_forward(Call& call, const ForwardArgs& args) {
  Context& context = call.context();
  const int64_t bytes = total_bytes({input_bytes(args), output_bytes(args)});
  const AssembleArgs assemble{args, fit_rows(context, args), exceeds_caches(bytes)};
  const int64_t items = args.B * assemble.tile_count();
  const int task_dim = choose_task_dim(items, bytes);
  call.log_detail("taskDim ", task_dim, ", tile of ", assemble.tile_rows, " rows");
  context.reserve(0);
  check_indices_of(context, args);
  launch(context, "assemble", task_dim, Evenly{items}, assemble_kernel(args.dtype), assemble);
}

void run_backward(Call& call, const BackwardArgs& args) {
  Context& context = call.context();
  const int64_t inputs = input_bytes(args);
  const int64_t bytes = total_bytes({inputs, inputs, output_bytes(args)}) / std::max<int64_t>(args.B, 1);
  const int64_t stride = round_up(args.O, kStripChannels);
  const int64_t range_kernels =
      fit_tile(context, args.M, [&](int64_t kernels) { return bytes_of<SumTile>(kernels, stride); });
  fit_tile(context, 1, [](int64_t) { return bytes_of<DifferentiateTile<float>>(); });
  Arena arena = context.reserve(bytes_of<Memory>(args));
  const Memory memory(arena, args);
  call.log_detail("ranges of ", range_kernels, " kernels");
  check_indices_of(context, args);
  constexpr int64_t kSortedRowBytes = 64;
  launch<SortArgs>(context, "sort_rows", choose_task_dim(args.B, args.B * args.rows() * kSortedRowBytes),
                   Evenly{args.B}, sort_rows, {args, memory});
  for (int64_t b = 0; b < args.B; ++b) {
    const BatchArgs batch{args, b, stride, memory.transposed};
    const int64_t tiles = batch.tile_count();
    launch(context, "differentiate", choose_task_dim(tiles, bytes), Evenly{tiles},
           differentiate_kernel(args.dtype), batch);
    const auto accumulate = [&](const RowLists& lists, int64_t rows_each, bool negates, void* grad) {
      const AccumulateArgs sums{batch, lists, rows_each, negates, grad, range_kernels};
      const int64_t items = args.N0 * sums.range_count();
      launch(context, "accumulate", choose_task_dim(items, bytes), Evenly{items}, accumulate_kernel(args.dtype),
             sums);
    };
    accumulate(memory.of_points, 1, false, args.grad_points);
    accumulate(memory.of_centers, args.K, true, args.grad_centers);
  }
}

}  // namespace mluop::assign_score_withk::native
