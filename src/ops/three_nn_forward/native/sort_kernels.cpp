// The kernels that sort the known points into cells.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/dtype.h"
#include "ops/three_nn_forward/native/kd_split.h"
#include "ops/three_nn_forward/native/kernels.h"
#include "team/split.h"

namespace mluop::three_nn_forward::native {
namespace {

// T: float or Half.
template <class T>
Point load_point(const Args& call, int64_t b, int64_t m) {
  const T* from = static_cast<const T*>(call.known) + (b * call.M + m) * 3;
  Point point{{to_f32(from[0]), to_f32(from[1]), to_f32(from[2])}, static_cast<int32_t>(m)};
  const bool finite = std::isfinite(point.coordinates[0]) && std::isfinite(point.coordinates[1]) &&
                      std::isfinite(point.coordinates[2]);
  if (!finite) std::fill_n(point.coordinates, 3, std::numeric_limits<float>::infinity());
  return point;
}

// Writes the subtree of split `node`, of splits below `cells`, for points[0, count).
void split_sample(Point* points, int64_t count, Split* splits, int64_t cells, int64_t node) {
  if (node >= cells) return;
  const int64_t middle = count / 2;
  const int dim = split_at(points, count, middle);
  splits[node] = {dim, points[middle].coordinates[dim], points[middle].index};
  split_sample(points, middle, splits, cells, 2 * node);
  split_sample(points + middle, count - middle, splits, cells, 2 * node + 1);
}

template <class T>
void sample(const TreeArgs& args, int64_t begin, int64_t end, Task&) {
  const TreeShape& shape = args.shape;
  const int64_t count = shape.sample_count();
  for (int64_t b = begin; b < end; ++b) {
    Point* points = args.trees.points_of(shape, b);
    // One point of each of `count` equal parts; its position in the part varies, so that periods of the points do
    // not matter.
    constexpr uint32_t kMultiplier = 2654435761U;  // Knuth's multiplicative hash
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = i * shape.points / count;
      const int64_t part = (i + 1) * shape.points / count - first;
      const auto hash = static_cast<uint32_t>(i + 1) * kMultiplier;
      points[i] = load_point<T>(args.call, b, first + (int64_t{hash} * part >> 32));
    }
    split_sample(points, count, args.trees.splits + b * shape.cells, shape.cells, 1);
  }
}

// The points of a chunk.
struct Chunk {
  Chunk(const TreeShape& shape, int64_t item) : b(item / shape.chunks), number(item % shape.chunks) {
    const int64_t first = number * TreeShape::kChunkPoints;
    points = {first, std::min(first + TreeShape::kChunkPoints, shape.points)};
  }
  int64_t b, number;
  Range points;
};

template <class T>
void classify(const TreeArgs& args, int64_t begin, int64_t end, Task&) {
  const TreeShape& shape = args.shape;
  for (int64_t item = begin; item < end; ++item) {
    const Chunk chunk(shape, item);
    const Split* splits = args.trees.splits + chunk.b * shape.cells;
    uint8_t* cell_of_point = args.trees.cell_of_point + chunk.b * shape.points;
    int32_t* counts = args.trees.positions + item * shape.cells;
    std::fill_n(counts, shape.cells, 0);
    for (int64_t m = chunk.points.begin; m < chunk.points.end; ++m) {
      const Point point = load_point<T>(args.call, chunk.b, m);
      const int64_t cell = cell_of(point.coordinates, point.index, splits, shape.cell_levels);
      cell_of_point[m] = static_cast<uint8_t>(cell);
      ++counts[cell];
    }
  }
}

void count(const TreeArgs& args, int64_t begin, int64_t end, Task&) {
  const TreeShape& shape = args.shape;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / shape.cells, cell = item % shape.cells;
    int32_t* positions = args.trees.positions + b * shape.chunks * shape.cells + cell;
    int32_t before = 0;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      int32_t& position = positions[chunk * shape.cells];
      before += std::exchange(position, before);
    }
    args.trees.cell_sizes[item] = before;
  }
}

template <class T>
void scatter(const TreeArgs& args, int64_t begin, int64_t end, Task&) {
  const TreeShape& shape = args.shape;
  for (int64_t item = begin; item < end; ++item) {
    const Chunk chunk(shape, item);
    const int32_t* cell_sizes = args.trees.cell_sizes + chunk.b * shape.cells;
    const uint8_t* cell_of_point = args.trees.cell_of_point + chunk.b * shape.points;
    Point* points = args.trees.points_of(shape, chunk.b);
    int64_t next[TreeShape::kMaxCells];
    int64_t first_block = 0;
    for (int64_t cell = 0; cell < shape.cells; ++cell) {
      next[cell] = first_block * kWidth + args.trees.positions[item * shape.cells + cell];
      first_block += ceil_div(cell_sizes[cell], kWidth);
    }
    for (int64_t m = chunk.points.begin; m < chunk.points.end; ++m) {
      points[next[cell_of_point[m]]++] = load_point<T>(args.call, chunk.b, m);
    }
  }
}

}  // namespace

RangeKernel<TreeArgs> sample_kernel(mluOpDataType_t dtype) {
  return dispatch_dtype(dtype, [](auto element) -> RangeKernel<TreeArgs> { return sample<decltype(element)>; });
}

RangeKernel<TreeArgs> classify_kernel(mluOpDataType_t dtype) {
  return dispatch_dtype(dtype, [](auto element) -> RangeKernel<TreeArgs> { return classify<decltype(element)>; });
}

RangeKernel<TreeArgs> count_kernel() { return count; }

RangeKernel<TreeArgs> scatter_kernel(mluOpDataType_t dtype) {
  return dispatch_dtype(dtype, [](auto element) -> RangeKernel<TreeArgs> { return scatter<decltype(element)>; });
}

}  // namespace mluop::three_nn_forward::native
