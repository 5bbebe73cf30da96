// Deformable convolution: finds the positions of samples. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_DCN_SAMPLES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_DCN_SAMPLES_INL_H
#undef MLUOP_DCN_SAMPLES_INL_H
#else
#define MLUOP_DCN_SAMPLES_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "ops/dcn/samples.h"
#include "primitives/gemm/gemm_microkernel-inl.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dcn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_interleaved_f32;
using mluop::HWY_NAMESPACE::load_row;

// Finds the samples of a box for one output pixel at a time. The position along an axis is o * stride - pad + i *
// dilation plus the offset, rounded to fp32 after each of the two additions. T, here and below: an element type.
template <class T>
class Sampler {
  using Tag = mluop::HWY_NAMESPACE::PanelTag;
  using TagI = hn::RebindToSigned<Tag>;
  static constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Tag()));

 public:
  Sampler(const Args& args, const SampleBox& box, const SampleBuffers& buffers)
      : args_(args), box_(box), buffers_(buffers) {
    // Samples that fill the last vector have position 0.
    std::fill_n(buffers.origins, 2 * buffers.stride, 0.0F);
    std::fill_n(buffers.offsets, 2 * buffers.stride, 0.0F);
    float *y = buffers.origins, *x = buffers.origins + buffers.stride;
    for (int64_t d = box.d; d < box.d_end; ++d) {
      for (int64_t k = box.k; k < box.k_end; ++k) {
        const int64_t row = k / args.kernel_w, column = k % args.kernel_w;
        *y++ = static_cast<float>(row * args.dilation_h - args.pad_top);
        *x++ = static_cast<float>(column * args.dilation_w - args.pad_left);
      }
    }
  }

  // Finds the samples of an output pixel, which is the row-th pixel of the buffers.
  void find(int64_t row, int64_t pixel) const {
    read_offsets(row, pixel);
    const TagI di;
    const Tag d;
    const int64_t stride = buffers_.stride, plane = buffers_.plane;
    const float *origins = buffers_.origins, *offsets = buffers_.offsets;
    int32_t* const corners = buffers_.corners + row * stride;
    float* const positions = buffers_.positions + row * stride;
    const auto first_y = hn::Set(d, static_cast<float>(pixel / args_.Wo % args_.Ho * args_.stride_h));
    const auto first_x = hn::Set(d, static_cast<float>(pixel % args_.Wo * args_.stride_w));
    const auto width = hn::Set(di, static_cast<int32_t>(args_.W)), none = hn::Set(di, -1);
    for (int64_t i = 0; i < stride; i += kLanes) {
      const Axis y(hn::Add(first_y, hn::Load(d, origins + i)), hn::Load(d, offsets + i), args_.H);
      const Axis x(hn::Add(first_x, hn::Load(d, origins + stride + i)), hn::Load(d, offsets + stride + i),
                   args_.W);
      const auto inside = hn::And(y.inside, x.inside);
      const auto store_corner = [&](int64_t corner, auto row_of, auto column, auto exists) {
        const auto of = hn::Add(hn::Mul(row_of, width), column);
        hn::Store(hn::IfThenElse(hn::RebindMask(di, hn::And(inside, exists)), of, none), di,
                  corners + corner * plane + i);
      };
      const auto bottom = hn::Add(y.first, hn::Set(di, 1)), right = hn::Add(x.first, hn::Set(di, 1));
      store_corner(0, y.first, x.first, hn::And(y.has_first, x.has_first));
      store_corner(1, y.first, right, hn::And(y.has_first, x.has_second));
      store_corner(2, bottom, x.first, hn::And(y.has_second, x.has_first));
      store_corner(3, bottom, right, hn::And(y.has_second, x.has_second));
      hn::Store(y.distance, d, positions + i);
      hn::Store(x.distance, d, positions + plane + i);
    }
  }

 private:
  // Positions along an axis of `extent` pixels.
  struct Axis {
    HWY_INLINE Axis(hn::Vec<Tag> origin, hn::Vec<Tag> offset, int64_t extent) {
      const Tag d;
      const auto position = hn::Add(origin, offset), end = hn::Set(d, static_cast<float>(extent));
      // False for NaN.
      inside = hn::And(hn::Gt(position, hn::Set(d, -1)), hn::Lt(position, end));
      const auto floor = hn::IfThenElseZero(inside, hn::Floor(position));
      distance = hn::IfThenElseZero(inside, hn::Sub(position, floor));
      first = hn::ConvertTo(TagI(), floor);
      has_first = hn::Ge(floor, hn::Zero(d));
      has_second = hn::Lt(hn::Add(floor, hn::Set(d, 1)), end);
    }

    hn::Vec<Tag> distance;  // distance from the first of the two pixels
    hn::Vec<TagI> first;
    hn::Mask<Tag> inside, has_first, has_second;
  };

  // Copies the offsets and the mask of the box.
  void read_offsets(int64_t row, int64_t pixel) const {
    float *const y = buffers_.offsets, *const x = y + buffers_.stride;
    float* const mask = buffers_.positions + 2 * buffers_.plane + row * buffers_.stride;
    // Samples that are consecutive in the tensors.
    const int64_t run = box_.offsets() == args_.K() ? box_.count() : box_.offsets();
    for (int64_t i = 0; i < box_.count(); i += run) {
      const int64_t first = pixel * args_.S() + (box_.d + i / box_.offsets()) * args_.K() + box_.k;
      const T* const pairs = static_cast<const T*>(args_.offset) + 2 * first;
      for_each_vector(run, [&](auto d, int64_t s) HWY_ATTR {
        hn::Vec<decltype(d)> pair[2];
        load_interleaved_f32(d, pairs + 2 * s, pair[0], pair[1]);
        hn::StoreU(pair[0], d, y + i + s);
        hn::StoreU(pair[1], d, x + i + s);
      });
      if (args_.mask == nullptr) {
        std::fill_n(mask + i, run, 1.0F);
      } else {
        load_row(static_cast<const T*>(args_.mask) + first, run, mask + i);
      }
    }
  }

  const Args& args_;
  SampleBox box_;
  const SampleBuffers& buffers_;
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dcn
HWY_AFTER_NAMESPACE();

#endif  // include guard
