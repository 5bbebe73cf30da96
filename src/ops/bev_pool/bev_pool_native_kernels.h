// BEV pool, native algorithm: memory, arguments and range kernels.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "ops/bev_pool/bev_pool.h"
#include "primitives/sort/bucket_sums.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::bev_pool::native {

// The cell number of a skipped point.
inline constexpr int32_t kSkipped = -1;

// The points of each row of the result, in order: the row that each point reads, and its weight, an element of
// depth. The buckets are rows of the result.
using SortedPoints = BucketSort<WeightedRow>;

// The products of rows of grad_output and features.
struct Products {
  Products(Arena& arena, int64_t point_count, int64_t sum_count)
      : of_points(arena.take<float>("products of points", {point_count})),
        sums(arena.take<float>("gradients of depth", {sum_count})) {}

  float* of_points;  // [P], in the order of the call; unset for skipped points
  float* sums;       // [D] for 16-bit types, otherwise [0]
};

// Work items: points. The first kernel counts the points of each row of the result and reports the first point
// with an index out of range; the second sorts the points.
struct SortArgs : Points {
  const int32_t *keys, *values;  // [P], rows of the result, rows of the matrix that is read
  SortedPoints& sorted;
  FirstBadItem& first_bad;
};
RangeKernel<SortArgs> count_kernel();
RangeKernel<SortArgs> sort_kernel(mluOpDataType_t dtype);

// Work items: rows of features. Writes their gradients and the products of their points.
struct DifferentiateArgs : BackwardArgs {
  const SortedPoints& sorted;
  const Products& products;
};
RangeKernel<DifferentiateArgs> differentiate_kernel(mluOpDataType_t dtype);

// Work items: elements of depth. Each task reads the numbers of all points.
struct AddArgs : BackwardArgs {
  const Products& products;
};
RangeKernel<AddArgs> add_products_kernel(mluOpDataType_t dtype);

// A product, and the element of depth whose gradient it is added to.
struct DepthProduct {
  int32_t element;
  float product;
};

// For many tasks: the products of each range of depth, in the order of their points.
struct SortedProducts {
  SortedProducts(Arena& arena, int64_t points, int64_t ranges, int task_dim)
      : sort(arena, points, static_cast<int32_t>(ranges), task_dim),
        products(arena.take<DepthProduct>("sorted products", {points})) {}

  CountingSort sort;       // of points, in buckets that are ranges of depth
  DepthProduct* products;  // [P]
};

// Work items of the first two kernels: points. The first counts the points of each range, the second sorts their
// products. Work items of the last: ranges.
struct SortedAddArgs : AddArgs {
  SortedProducts& sorted;
  int64_t range;  // consecutive elements of depth
};
RangeKernel<SortedAddArgs> count_products_kernel();
RangeKernel<SortedAddArgs> sort_products_kernel();
RangeKernel<SortedAddArgs> add_sorted_products_kernel(mluOpDataType_t dtype);

}  // namespace mluop::bev_pool::native
