// RoI align, native algorithm: work items, tiles in NRAM and range kernels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/roi_align/roi_align_tables.h"

namespace mluop::roi_align::native {

// The division of images into ranges of channels.
struct Division {
  int64_t range_count(const Args& args) const { return ceil_div(args.C, range); }

  int64_t range;  // consecutive channels
};

// The channels of a work item: `count` consecutive channels of an image.
struct Channels {
  Channels(const Args& args, const Division& division, int64_t item)
      : image(item / division.range_count(args)),
        first(item % division.range_count(args) * division.range),
        count(std::min(division.range, args.C - first)) {}

  // The first element of these channels in a tensor of pixels, and in a tensor of bins.
  int64_t first_pixel(const Args& args) const { return first_element(args, image, args.image_pixels()); }
  int64_t first_bin(const Args& args, int64_t roi) const { return first_element(args, roi, args.bins()); }

  int64_t image, first, count;

 private:
  int64_t first_element(const Args& args, int64_t outer, int64_t inner_count) const {
    return outer * args.C * inner_count + first * args.channel_stride(inner_count);
  }
};

struct PoolArgs : ForwardArgs {
  int64_t roi_blocks() const { return ceil_div(R, roi_block); }

  const Tables& tables;
  Division division;
  int64_t roi_block;  // consecutive RoIs
  void* copies;       // [taskDim, H, W, range] in NCHW: the pixels of a work item, transposed; or null
};

// Work items: (image, range of channels, block of RoIs), blocks fastest. Pools the RoIs of the image.
RangeKernel<PoolArgs> pool_kernel(const ForwardArgs& args);

struct AddArgs : BackwardArgs {
  const Tables& tables;
  Division division;
  float* sums;  // [taskDim, H, W, range]; null if grads_image holds them
};

// Work items: (image, range of channels). Writes the gradients of the pixels of these channels.
RangeKernel<AddArgs> add_kernel(const BackwardArgs& args);

// Weighted sums of rows of pixels, or of columns of gradients: the pixels of a RoI along x.
struct MeanTile {
  MeanTile(Arena& nram, int64_t pixels, int64_t channels)
      : row(nram.take<float>("row", {pixels, channels})), bin(nram.take<float>("bin", {channels})) {}

  float* row;  // [pixels, channels]
  float* bin;  // [channels]
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
