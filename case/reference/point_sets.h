// Operators on the convex hulls of point sets by their definitions, in long double. The oracles of the tests and
// the baselines of the perf suite. A set is x1, y1, ..., x9, y9; a polygon is x1, y1, ..., x4, y4.
#pragma once

#include <cstdint>

namespace mluop::reference {

// IoU of each hull and each polygon: ious [N, K]. Quotients are rounded once.
void convex_iou(int64_t N, int64_t K, const float* pointsets, const float* polygons, float* ious);

// Generalized IoU of pairs, after its derivatives for the points: output [N, 19]. The derivatives of areas are
// integrals over the sides of hulls: sides must not lie on sides of the polygon.
void convex_giou(int64_t N, const float* pointsets, const float* polygons, float* output);

// The rectangles of the smallest area, along the first side of the hull of several: polygons [N, 8].
void min_area_polygons(int64_t N, const float* pointsets, float* polygons);

}  // namespace mluop::reference
