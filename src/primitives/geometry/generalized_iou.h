// The generalized IoU of the hull of a point set and a quadrilateral, and its gradient (arXiv:1902.09630, mmcv
// convex_giou).
#pragma once

#include "primitives/geometry/point_set.h"
#include "primitives/geometry/quadrilateral.h"

namespace mluop {

// Writes 19 numbers: the gradient for the points, then GIoU = I / U - (C - U) / C with U = A + B - I: A, B and I
// are the areas of hull, polygon and intersection, C is the area of the hull of both.
void write_giou(const PointSet& set, const Quadrilateral& polygon, float* to);

}  // namespace mluop
