// Synchronized batch normalization: the two primitives of its operators, sums per channel and maps of elements.
//
// Letters: N batch, C channels, S elements of a channel of a batch item.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/dtype.h"
#include "team/operator_call.h"

namespace mluop::sync_batch_norm {

inline constexpr auto kFloat = MLUOP_DTYPE_FLOAT;

inline const float* floats(const Input& tensor) { return static_cast<const float*>(tensor.data); }
inline float* floats(const Output& tensor) { return static_cast<float*>(tensor.data); }

// The memory of a tensor: [N, C, S], or rows of channels [N, C] with S = 1.
struct Shape {
  int64_t terms() const { return N * S; }

  int64_t N, C, S;
};

// Rows of any number of dimensions, channels last. Accepts null.
Shape rows_of(const TensorDescriptor* desc);

struct SumArgs {
  Shape shape;
  mluOpDataType_t dtype;
  const void* a;       // of dtype
  const void* b;       // of dtype or float
  const float* shift;  // [C]
  double* partials;    // [chunks, 2, C]
  int64_t chunk_size;  // rows, or pieces of kPiece elements, of a chunk
  int64_t chunks;
};

// The scratch memory of sums: `shift` for the caller's use, and the sums.
struct SumScratch {
  SumScratch(Arena& arena, const Shape& shape);

  float* shift;      // [C]
  double* partials;  // [chunks, 2, C]
};

// Reserves the scratch memory of the calls below.
SumScratch reserve_sums(Context& context, const Shape& shape);

// Return sums [2, C], in double: of a - shift and its square; of a and a (b - shift), with b of the type of a,
// or float if b_is_float. Each chunk of terms is summed, then the chunks are added in order: the bits depend on
// the shape only.
const double* sum_squares(Call& call, const Shape& shape, mluOpDataType_t dtype, const void* a,
                          const SumScratch& scratch);
const double* sum_products(Call& call, const Shape& shape, mluOpDataType_t dtype, const void* a, const void* b,
                           bool b_is_float, const SumScratch& scratch);

// shift[c] = the first element of channel c, or 0 if it is not finite: a shift near the mean, so that sums of
// squares do not cancel. `a` has elements.
void set_shift(const Shape& shape, mluOpDataType_t dtype, const void* a, float* shift);

// The numbers of the channels in a map, in fp32.
struct Channels {
  Channels(Arena& arena, int64_t count)
      : mean(arena.take<float>("mean", {count})),
        factor(arena.take<float>("factor", {count})),
        scale(arena.take<float>("scale", {count})),
        offset(arena.take<float>("offset", {count})) {}

  float *mean, *factor, *scale, *offset;  // [C]
};
Channels reserve_channels(Context& context, int64_t C);

struct MapArgs {
  Shape shape;
  const void* a;
  const void* b;
  void* output;  // of the type of a
  float* norm;   // null: not written
  Channels channels;
  bool stream;  // the outputs bypass the caches
};

// Write, each operation rounded to fp32 and outputs once to dtype:
//   norm = (a - mean) factor, output = norm scale + offset
//   output = ((a - offset) - (b - mean) factor) scale
void map_forward(Call& call, const Shape& shape, mluOpDataType_t dtype, const void* a, const Channels& channels,
                 float* norm, void* output);
void map_backward(Call& call, const Shape& shape, mluOpDataType_t dtype, const void* a, const void* b,
                  bool b_is_float, const Channels& channels, void* output);

}  // namespace mluop::sync_batch_norm
