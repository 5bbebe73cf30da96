// RoI align, native algorithm: work items, tiles in NRAM and range kernels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/roi_align/roi_align_tables.h"

namespace mluop::roi_align::native {

// How planes are divided: in NHWC, into ranges of channels.
struct Division {
  int64_t range_count(const Args& args) const { return ceil_div(args.inner(), range); }

  int64_t range;  // adjacent channels
};

// The channels of a work item: `count` adjacent ones of a plane of an image.
struct Channels {
  Channels(const Args& args, const Division& division, int64_t item)
      : plane(item / division.range_count(args)),
        image(plane / args.planes_of_image()),
        first(item % division.range_count(args) * division.range),
        count(std::min(division.range, args.inner() - first)) {}

  // The first of the elements of these channels in a tensor of pixels, and in one of bins.
  int64_t first_pixel(const Args& args) const { return plane * args.image_pixels() * args.inner() + first; }
  int64_t first_bin(const Args& args, int64_t roi) const {
    return (roi * args.planes_of_image() + plane % args.planes_of_image()) * args.bins() * args.inner() + first;
  }

  int64_t plane, image, first, count;
};

struct PoolArgs : ForwardArgs {
  int64_t roi_blocks() const { return ceil_div(R, roi_block); }

  const Tables& tables;
  Division division;
  int64_t roi_block;  // consecutive RoIs
};

// Work items: (plane, range of channels, block of RoIs), blocks fastest. Pools the RoIs of the image of the plane.
RangeKernel<PoolArgs> pool_kernel(const ForwardArgs& args);

struct AddArgs : BackwardArgs {
  const Tables& tables;
  Division division;
  float* sums;  // [taskDim, H, W, range]; null if grads_image holds them
};

// Work items: (plane, range of channels). Writes the gradients of the pixels of these channels.
RangeKernel<AddArgs> add_kernel(const BackwardArgs& args);

// Weighted sums of rows of pixels, or of columns of gradients: the pixels of a RoI along x.
struct MeanTile {
  MeanTile(Arena& nram, int64_t pixels, int64_t channels) : row(nram.take<float>("row", {pixels, channels})) {}

  float* row;  // [pixels, channels]
};

// The maxima of a bin.
struct MaximumTile {
  MaximumTile(Arena& nram, int64_t channels)
      : values(nram.take<float>("values", {channels})),
        x(nram.take<float>("x", {channels})),
        y(nram.take<float>("y", {channels})) {}

  float *values, *x, *y;  // [channels]
};

}  // namespace mluop::roi_align::native
