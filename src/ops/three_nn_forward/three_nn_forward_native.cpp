// Three nearest neighbors forward, native algorithm: the decisions of a call, its workspace, and its launches.
#include "ops/three_nn_forward/three_nn_forward.h"

#include <algorithm>
#include <bit>

#include "core/sizes.h"
#include "ops/three_nn_forward/three_nn_forward_native_kernels.h"
#include "team/fit_tile.h"

namespace mluop::three_nn_forward::native {
namespace {

// Cost of each step, in bytes of memory traffic.
constexpr int64_t kCompareBytes = 2;     // comparing a query with a known point
constexpr int64_t kSearchBytes = 512;    // searching a tree for a query
constexpr int64_t kConvertBytes = 6;     // converting an element
constexpr int64_t kClassifyBytes = 128;  // classifying a point
constexpr int64_t kSortBytes = 512;      // sorting a point in its cell

// Queries that are sorted together. Their order stays in L1; more are not faster.
constexpr int64_t kMaxTileQueries = 8192;

// The workspace without a tree: the known points in fp32.
struct KnownBuffer {
  KnownBuffer(Arena& arena, int64_t B, int64_t M) : known_f32(arena.take<float>("known", {B, M, 3})) {}

  float* known_f32;  // [B, M, 3]
};

int task_dim(int64_t items, int64_t item_bytes) {
  return choose_task_dim(items, saturated_product({items, item_bytes}));
}

void run_compare(Context& context, const Args& args, Arena& workspace) {
  const auto* known_f32 = static_cast<const float*>(args.known);
  if (is_16_bit(args.dtype) && args.M > 0) {
    float* const converted = KnownBuffer(workspace, args.B, args.M).known_f32;
    const int64_t elements = args.B * args.M * 3;
    launch(context, "convert", task_dim(elements, kConvertBytes), Evenly{elements}, convert_kernel(args.dtype),
           {args, converted});
    known_f32 = converted;
  }
  const int64_t queries = args.B * args.N;
  launch(context, "compare", task_dim(queries, kCompareBytes * std::max<int64_t>(args.M, 1)), Evenly{queries},
         compare_kernel(args.dtype), {args, known_f32});
}

// Subtrees for many tasks: each splits the whole sample again on the way to its root.
int sample_levels(int64_t B, const TreeShape& shape) {
  const int64_t tasks = task_dim(B * TreeShape::kMaxSamples, shape.sample_count() * kSortBytes);
  const int64_t subtrees = std::clamp<int64_t>(tasks / B, 1, std::min(TreeShape::kMaxSamples, shape.cells));
  return static_cast<int>(std::bit_width(static_cast<uint64_t>(subtrees))) - 1;
}

void run_tree(Context& context, const Args& args, Arena& workspace) {
  const TreeShape shape(args.M);
  const Trees trees(workspace, args.B, shape);
  const TreeArgs tree{args, shape, trees, sample_levels(args.B, shape)};
  const auto build = [&](const char* name, int64_t items, int64_t item_bytes, RangeKernel<TreeArgs> kernel) {
    launch(context, name, task_dim(items, item_bytes), Evenly{items}, kernel, tree);
  };
  const int64_t chunk_points = std::min(args.M, shape.chunk_points);
  build("sample", args.B << tree.sample_levels, shape.sample_count() * kSortBytes, sample_kernel(args.dtype));
  build("classify", args.B * shape.chunks, chunk_points * kClassifyBytes, classify_kernel(args.dtype));
  build("count", args.B * shape.cells, shape.chunks * int64_t{sizeof(int32_t)}, count_kernel());
  build("scatter", args.B * shape.chunks, chunk_points * kClassifyBytes, scatter_kernel(args.dtype));
  build("partition", args.B * shape.cells, args.M / shape.cells * kSortBytes, partition_kernel());
  for (int level = 1; level < shape.levels; ++level) {
    const int64_t items = args.B * shape.node_count[static_cast<size_t>(level)];
    launch(context, "level", task_dim(items, kWidth * int64_t{sizeof(Node)}), Evenly{items}, level_kernel(),
           {tree, level});
  }
  const int64_t queries = args.B * args.N;
  const int search_task_dim = task_dim(queries, kSearchBytes);
  const int64_t max_tile = std::min(ceil_div(queries, search_task_dim), kMaxTileQueries);
  const int64_t tile_queries =
      fit_tile(context, max_tile, [](int64_t count) { return bytes_of<SearchTile>(count); });
  launch(context, "search", search_task_dim, Evenly{queries}, search_kernel(args.dtype), {tree, tile_queries});
}

}  // namespace

size_t workspace_bytes(const KnownSizes& known) {
  if (known.M >= kMinTreePoints) return workspace_bytes_of<Trees>(known.B, TreeShape(known.M));
  if (known.dtype == MLUOP_DTYPE_FLOAT || known.M == 0) return 0;
  return workspace_bytes_of<KnownBuffer>(known.B, known.M);
}

void run(Call& call, const Args& args, Arena workspace) {
  Context& context = call.context();
  context.reserve(0);
  const bool uses_tree = args.M >= kMinTreePoints;
  call.log_detail("native, ", uses_tree ? "tree" : "comparison with all known points");
  if (uses_tree) {
    run_tree(context, args, workspace);
  } else {
    run_compare(context, args, workspace);
  }
}

}  // namespace mluop::three_nn_forward::native
