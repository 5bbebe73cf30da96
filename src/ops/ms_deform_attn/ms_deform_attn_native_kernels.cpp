#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/ms_deform_attn/ms_deform_attn_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/ms_deform_attn/ms_deform_attn_native_kernels.h"
#include "primitives/for_each_vector-inl.h"
#include "primitives/partial_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::ms_deform_attn::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::add_partial_sums;
using mluop::HWY_NAMESPACE::for_each_vector;

// Where the channels of the four pixels of a sample are.
struct Corners {
  Corners(const Sample& sample, const float* head, int64_t stride, const float* zeros) {
    for (int i = 0; i < 4; ++i) rows[i] = sample.keys[i] < 0 ? zeros : head + sample.keys[i] * stride;
  }

  const float* rows[4];
};

// to[0, D) = the sum of the samples.
HWY_INLINE void add_samples(const SampleTile& tile, int64_t sample_count, const float* head, int64_t stride,
                            const float* weights, int64_t D, float* to) {
  for_each_vector(D, [&](auto d, int64_t channel) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int64_t s = 0; s < sample_count; ++s) {
      const Sample& sample = tile.samples[s];
      const Corners corners(sample, head, stride, tile.zeros);
      auto value = hn::Mul(hn::Set(d, sample.weights[0]), hn::LoadU(d, corners.rows[0] + channel));
      HWY_UNROLL(3) for (int i = 1; i < 4; ++i) {
        const auto pixel = hn::LoadU(d, corners.rows[i] + channel);
        value = hn::Add(value, hn::Mul(hn::Set(d, sample.weights[i]), pixel));
      }
      sum = hn::Add(sum, hn::Mul(hn::Set(d, weights[sample.number]), value));
    }
    hn::StoreU(sum, d, to + channel);
  });
}

void attend(const ForwardArgs& args, int64_t begin, int64_t end, Task& task) {
  const SampleTile tile(task.nram, args);
  std::fill_n(tile.zeros, args.D, 0.0F);
  for (int64_t query = begin; query < end; ++query) {
    for (int64_t head = 0; head < args.M; ++head) {
      const int64_t place = query * args.M + head;
      const int64_t count = find_samples(args, place, tile.samples);
      add_samples(tile, count, args.head_of(query / args.Q, head), args.M * args.D,
                  args.weights + place * args.samples(), args.D, args.output + place * args.D);
    }
  }
}

// The sums over channels of a gradient times the value of a sample, and times its derivatives along y and x.
struct ChannelSums {
  float value, along_y, along_x;
};

// Adds the products of Lanes(d) channels to partial sums.
template <class D>
HWY_INLINE void add_products(D d, const Sample& sample, const Corners& corners, const float* grad, int64_t channel,
                             float* value, float* along_y, float* along_x) {
  const auto pixel = [&](int i) HWY_ATTR { return hn::LoadU(d, corners.rows[i] + channel); };
  const auto times = [&](float weight, hn::Vec<D> v) HWY_ATTR { return hn::Mul(hn::Set(d, weight), v); };
  const auto v0 = pixel(0), v1 = pixel(1), v2 = pixel(2), v3 = pixel(3), g = hn::LoadU(d, grad + channel);
  const auto add = [&](hn::Vec<D> term, float* sums)
                       HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(d, sums), hn::Mul(g, term)), d, sums); };
  const float* const w = sample.weights;
  add(hn::Add(hn::Add(hn::Add(times(w[0], v0), times(w[1], v1)), times(w[2], v2)), times(w[3], v3)), value);
  add(hn::Add(times(sample.of_left, hn::Sub(v2, v0)), times(sample.of_right, hn::Sub(v3, v1))), along_y);
  add(hn::Add(times(sample.of_top, hn::Sub(v1, v0)), times(sample.of_bottom, hn::Sub(v3, v2))), along_x);
}

HWY_INLINE ChannelSums sum_channels(const Sample& sample, const Corners& corners, const float* grad, int64_t D) {
  HWY_ALIGN float value[kPartialSums] = {}, along_y[kPartialSums] = {}, along_x[kPartialSums] = {};
  for_each_vector(D, [&](auto d, int64_t channel) HWY_ATTR {
    const int64_t i = channel % kPartialSums;
    add_products(d, sample, corners, grad, channel, value + i, along_y + i, along_x + i);
  });
  return {add_partial_sums(value), add_partial_sums(along_y), add_partial_sums(along_x)};
}

void differentiate(const BackwardArgs& args, int64_t begin, int64_t end, Task& task) {
  const SampleTile tile(task.nram, args);
  std::fill_n(tile.zeros, args.D, 0.0F);
  for (int64_t place = begin * args.M; place < end * args.M; ++place) {
    const int64_t first = place * args.samples();
    std::fill_n(args.grad_locations + 2 * first, 2 * args.samples(), 0.0F);
    std::fill_n(args.grad_weights + first, args.samples(), 0.0F);
    const int64_t count = find_samples(args, place, tile.samples);
    const float* const head = args.head_of(place / args.M / args.Q, place % args.M);
    for (int64_t s = 0; s < count; ++s) {
      const Sample& sample = tile.samples[s];
      const Corners corners(sample, head, args.M * args.D, tile.zeros);
      const ChannelSums sums = sum_channels(sample, corners, args.grad_output + place * args.D, args.D);
      const int64_t i = first + sample.number;
      args.grad_weights[i] = sums.value;
      args.grad_locations[2 * i] = sample.width * (args.weights[i] * sums.along_x);
      args.grad_locations[2 * i + 1] = sample.height * (args.weights[i] * sums.along_y);
    }
  }
}

// to[0, count) += weight * (factor * from[0, count))
HWY_INLINE void add_scaled(const float* from, float factor, float weight, int64_t count, float* to) {
  for_each_vector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto scaled = hn::Mul(hn::Set(d, weight), hn::Mul(hn::Set(d, factor), hn::LoadU(d, from + i)));
    hn::StoreU(hn::Add(hn::LoadU(d, to + i), scaled), d, to + i);
  });
}

void scatter(const BackwardArgs& args, int64_t begin, int64_t end, Task& task) {
  const SampleTile tile(task.nram, args);
  const int64_t stride = args.M * args.D;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / args.M, head = item % args.M;
    float* const grads = args.grad_value + (b * args.K * args.M + head) * args.D;
    for (int64_t key = 0; key < args.K; ++key) std::fill_n(grads + key * stride, args.D, 0.0F);
    for (int64_t q = 0; q < args.Q; ++q) {
      const int64_t place = args.place(b, q, head);
      const float* const grad = args.grad_output + place * args.D;
      const int64_t count = find_samples(args, place, tile.samples);
      for (int64_t s = 0; s < count; ++s) {
        const Sample& sample = tile.samples[s];
        const float factor = args.weights[place * args.samples() + sample.number];
        for (int i = 0; i < 4; ++i) {
          if (sample.keys[i] < 0) continue;
          add_scaled(grad, factor, sample.weights[i], args.D, grads + sample.keys[i] * stride);
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::ms_deform_attn::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::ms_deform_attn::native {

MLUOP_EXPORT_KERNEL(attend_kernel, attend, ForwardArgs);
MLUOP_EXPORT_KERNEL(differentiate_kernel, differentiate, BackwardArgs);
MLUOP_EXPORT_KERNEL(scatter_kernel, scatter, BackwardArgs);

}  // namespace mluop::ms_deform_attn::native
#endif
