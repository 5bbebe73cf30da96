// Indice convolution: packs filters for the microkernel. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_INDICE_CONVOLUTION_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_INDICE_CONVOLUTION_PACK_INL_H
#undef MLUOP_INDICE_CONVOLUTION_PACK_INL_H
#else
#define MLUOP_INDICE_CONVOLUTION_PACK_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "core/half.h"
#include "core/sizes.h"
#include "ops/indice_convolution/args.h"
#include "primitives/gemm_microkernel-inl.h"
#include "primitives/prefetch.h"
#include "primitives/transpose_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kLanes;
using mluop::HWY_NAMESPACE::kNr;
using mluop::HWY_NAMESPACE::kPacked;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::PanelTag;
using mluop::HWY_NAMESPACE::unpack;

// Part of the filters of offset k: input channels [ci, ci + inputs), output channels [co, co + outputs).
struct FilterBlock {
  int64_t k, ci, inputs, co, outputs;
};

// Copies a block of any strides to fp32 [inputs][stride].
template <class T>
void copy_elements(const T* from, const FilterStrides& strides, int64_t inputs, int64_t outputs, float* to,
                   int64_t stride) {
  for (int64_t ci = 0; ci < inputs; ++ci) {
    for (int64_t co = 0; co < outputs; ++co) {
      to[ci * stride + co] = mluop::to_f32(from[ci * strides.ci + co * strides.co]);
    }
  }
}

// The same for strides.co == 1 and whole vectors of outputs. The rows are short and far apart: prefetched ahead.
template <class T>
void copy_vectors(const T* from, int64_t ci_stride, int64_t inputs, int64_t outputs, float* to, int64_t stride) {
  constexpr int64_t kPrefetchedRows = 32;
  const PanelTag d;
  for (int64_t ci = 0; ci < inputs; ++ci, from += ci_stride, to += stride) {
    if (ci + kPrefetchedRows < inputs) {
      prefetch_row<Use::kReadOnce>(from + kPrefetchedRows * ci_stride, outputs * int64_t{sizeof(T)});
    }
    for (int64_t co = 0; co < outputs; co += kLanes) hn::Store(load_f32(d, from + co), d, to + co);
  }
}

// The same for strides.ci == 1 and whole squares.
template <class T>
void copy_squares(const T* from, int64_t co_stride, int64_t inputs, int64_t outputs, float* to, int64_t stride) {
  const PanelTag d;
  for (int64_t co = 0; co < outputs; co += kLanes) {
    for (int64_t ci = 0; ci < inputs; ci += kLanes * kPacked<T>) {
      hn::Vec<PanelTag> columns[kLanes];
      load_transposed(d, from + co * co_stride + ci, co_stride, columns);
      float* row = to + ci * stride + co;
      HWY_UNROLL(16) for (int64_t j = 0; j < kLanes; ++j) {
        hn::Store(unpack<T, 0>(d, columns[j]), d, row);
        row += stride;
        if constexpr (kPacked<T> == 2) {
          hn::Store(unpack<T, 1>(d, columns[j]), d, row);
          row += stride;
        }
      }
    }
  }
}

// Packs a block of at most kNr outputs as fp32 [inputs][outputs], padded with zeros to whole vectors.
template <class T>
void pack_panel(const Args& call, const FilterBlock& block, float* to) {
  const FilterStrides& strides = call.strides;
  const T* from =
      static_cast<const T*>(call.filters) + block.k * strides.k + block.ci * strides.ci + block.co * strides.co;
  const int64_t stride = round_up(block.outputs, kLanes);
  int64_t inputs = 0, outputs = block.outputs / kLanes * kLanes;
  if (strides.co == 1) {
    inputs = block.inputs;
    copy_vectors(from, strides.ci, inputs, outputs, to, stride);
  } else if (strides.ci == 1) {
    inputs = block.inputs / (kLanes * kPacked<T>)*(kLanes * kPacked<T>);
    copy_squares(from, strides.co, inputs, outputs, to, stride);
  }
  // What is left: some outputs of the inputs that have been copied, and the other inputs.
  copy_elements(from + outputs * strides.co, strides, inputs, block.outputs - outputs, to + outputs, stride);
  copy_elements(from + inputs * strides.ci, strides, block.inputs - inputs, block.outputs, to + inputs * stride,
                stride);
  for (int64_t ci = 0; ci < block.inputs; ++ci) {
    std::fill(to + ci * stride + block.outputs, to + (ci + 1) * stride, 0.0F);
  }
}

// Packs panels of kNr outputs, one after the other.
template <class T>
void pack_panels(const Args& call, const FilterBlock& block, float* to) {
  for (int64_t co = 0; co < block.outputs; co += kNr) {
    const int64_t width = std::min(kNr, block.outputs - co);
    pack_panel<T>(call, {block.k, block.ci, block.inputs, block.co + co, width}, to + co * block.inputs);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution::native
HWY_AFTER_NAMESPACE();

#endif  // include guard
