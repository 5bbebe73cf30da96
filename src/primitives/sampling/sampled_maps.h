// Sums of samples of maps [B, H, W, C], and the gradients of the maps: what operators share whose outputs are sums
// or means of interpolated samples. An operator states where its samples lie, as a function that adds the taps of
// an output to a TapSink. Consecutive taps within a box of 8 x 8 pixels are summed as WeightedPixels, each pixel
// once, so that memory does not grow with the number of taps.
//
//   output[group, bin, c] = (the sum of weight value over the pixels of the bin, in order) / divisors[group]
//   grad_maps[image, pixel, c] += grads[group, bin, c] (weight / divisors[group]), in order of group, bin, pixel:
//   an element has one owner, and its sum has the same bits at any number of threads. A weight of NaN is skipped.
//
// Sums are fp32 and start at +0; results are rounded once.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "mlu_op.h"
#include "primitives/sampling/bilinear.h"
#include "team/context.h"

namespace mluop {

// Receives the taps of an output.
class TapSink {
 public:
  // The sample at (y, x), as clamped_tap() and zero_padded_tap() define it.
  virtual void add_sample(float y, float x) = 0;
  virtual void add_zero_padded_sample(float y, float x) = 0;
  virtual void add_pixel(int64_t row, int64_t column) = 0;

  const int64_t height, width;  // of the map

 protected:
  TapSink(int64_t rows, int64_t columns) : height(rows), width(columns) {}
  ~TapSink() = default;
};

// What an operator samples. H W is less than 2^31.
struct SampledMaps {
  int64_t pixels() const { return H * W; }
  int64_t outputs() const { return groups * bins; }

  int64_t B, H, W, C;
  int64_t groups, bins;   // outputs are [groups, bins, C]; the outputs of a group sample one image
  mluOpDataType_t dtype;  // of maps and outputs
  const int32_t* images;  // [groups], in [0, B)
  const float* divisors;  // [groups], not 0; null: 1
  // Adds the taps of an output. Called from several threads, and more than once for an output.
  void (*add_taps)(const void* operands, int64_t group, int64_t bin, TapSink& to);
  const void* operands;
  // In the gradient: divides grads, not the weights.
  bool divides_first = false;
  // Replaces channels [0, count) of a sum, or of a gradient, by a function of them: to = mix(from). Channels are
  // mixed within groups of `mixed` consecutive channels. Null: none.
  void (*mix)(const void* operands, int64_t group, int64_t count, const float* from, float* to) = nullptr;
  int64_t mixed = 1;
  // For gather_maxima(): maps have `blocks` times C channels; a bin reads the C channels from (bin % blocks) C on.
  int64_t blocks = 1;
};

// Writes outputs. Reserve the NRAM first (Context::reserve). Throws Failure with ALLOC_FAILED if no tile fits
// NRAM.
void gather_samples(Context& context, const SampledMaps& args, const void* maps, void* outputs);

// Writes the greatest tap of each output, and its number among the taps of the output. The first tap is compared
// with the following ones in order, and replaced if one is greater: the first of equal maxima wins, and a NaN is
// neither selected nor, if it is the first, replaced. Divisors and mixes do not apply. An output needs at least
// one tap.
void gather_maxima(Context& context, const SampledMaps& args, const void* maps, void* outputs, int32_t* numbers);

// How the gradients are divided: a work item is (image, band of rows, range of channels). Ranges are of all
// channels if NRAM allows: tasks that add to the same pixels take each other's cache lines, which processors
// prefetch. Where channels are mixed, ranges are narrower for many tasks.
struct ScatterPlan {
  ScatterPlan(const Context& context, const SampledMaps& args);

  int64_t channels;  // of a range
  int64_t rows;      // of a band
  int task_dim;
};

// The memory of scatter_samples().
struct ScatterMemory {
  ScatterMemory(Arena& arena, const SampledMaps& args, const ScatterPlan& plan);

  float* sums;  // [task_dim, rows, W, channels] of 16-bit gradients
  // [groups, bins], the parts of the rows of an image that have taps of an output, a bit for each of 64 parts: a
  // band skips an output without taps in it. None if a band is an image.
  uint64_t* parts;
};

// Writes grad_maps.
void scatter_samples(Context& context, const SampledMaps& args, const ScatterPlan& plan,
                     const ScatterMemory& memory, const void* grads, void* grad_maps);

}  // namespace mluop
