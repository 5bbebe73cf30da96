// RoI align, native algorithm: work items, tiles in NRAM and range kernels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/roi_align/roi_align_tables.h"

namespace mluop::roi_align::native {

// The division of images into bands of rows and ranges of channels.
struct Division {
  int64_t range_count(const Args& args) const { return ceil_div(args.C, range); }
  int64_t band_count(const Args& args) const { return std::max<int64_t>(ceil_div(args.H, rows), 1); }
  int64_t part_count(const Args& args) const { return args.B * band_count(args) * range_count(args); }

  int64_t range;  // consecutive channels
  int64_t rows;   // consecutive rows
};

// A part of the images: consecutive channels of consecutive rows of an image. Ranges of channels are numbered
// fastest, images slowest.
struct Part {
  Part(const Args& args, const Division& division, int64_t number)
      : first(number % division.range_count(args) * division.range),
        count(std::min(division.range, args.C - first)) {
    const int64_t band = number / division.range_count(args), bands = division.band_count(args);
    image = band / bands;
    first_row = band % bands * division.rows;
    rows = std::min(division.rows, args.H - first_row);
  }

  // The first element of these channels in a tensor of pixels, and in a tensor of bins.
  int64_t first_pixel(const Args& args) const {
    return first_element(args, image, args.image_pixels()) + first_row * args.W * args.inner();
  }
  int64_t first_bin(const Args& args, int64_t roi) const { return first_element(args, roi, args.bins()); }

  int64_t first, count;  // channels
  int64_t image, first_row, rows;

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
  // In NCHW: the pixels of a part, transposed, [H, W, range]; one for each part, or one for each task, which
  // writes it for each of its work items. Null: pixels are read from the input.
  void* copies;
  bool has_copy_of_each_part;
};

// Work items: (part, row), rows fastest. Writes the copies of the parts.
RangeKernel<PoolArgs> copy_kernel(mluOpDataType_t dtype);

// Work items: (part, block of RoIs), blocks fastest. Parts have all rows. Pools the RoIs of the image.
RangeKernel<PoolArgs> pool_kernel(const ForwardArgs& args);

struct AddArgs : BackwardArgs {
  const Tables& tables;
  Division division;
  float* sums;  // [taskDim, rows, W, range]; null: grads_image holds the sums
};

// Work items: parts. Writes the gradients of their pixels.
RangeKernel<AddArgs> add_kernel(const BackwardArgs& args);

// Weighted sums of rows of pixels, or of columns of gradients: the pixels of a RoI along x; and a bin.
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
