#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/ms_deform_attn/ms_deform_attn_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/ms_deform_attn/ms_deform_attn_native_kernels.h"
#include "primitives/memory/prefetch.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "primitives/simd/partial_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::ms_deform_attn::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::add_partial_sums;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::kPartialSumLanes;
using mluop::HWY_NAMESPACE::PartialSumTag;

// Distance, in queries, at which inputs are prefetched.
constexpr int64_t kPlacesAhead = 8;

// Pointers to the channels of the four pixels of a sample.
struct Corners {
  Corners(const Sample& sample, const float* head, int64_t stride, const float* zeros) {
    for (int i = 0; i < 4; ++i) rows[i] = sample.keys[i] < 0 ? zeros : head + sample.keys[i] * stride;
  }

  const float* rows[4];
};

// Calls body(place, samples on these levels, number of samples) for `count` places from `first` on, `stride`
// apart, and prefetches the pixels of the next place: `channels` channels of the keys of head_of(place).
template <Use kUse, class HeadOf, class Body>
HWY_INLINE void for_each_place(const Inputs& args, const SampleTile& tile, Range levels, int64_t first,
                               int64_t count, int64_t stride, int64_t channels, const HeadOf& head_of,
                               const Body& body) {
  const auto find = [&](int64_t i) HWY_ATTR {
    const int64_t place = first + i * stride;
    Sample* const samples = tile.samples[i % 2];
    const int64_t found = find_samples(args, place, levels, samples);
    const float* const head = head_of(place);
    for (int64_t s = 0; s < found; ++s) {
      for (const int64_t key : samples[s].keys) {
        if (key >= 0) prefetch_row<kUse>(head + key * args.M * args.D, channels * int64_t{sizeof(float)});
      }
    }
    return found;
  };
  int64_t next = count > 0 ? find(0) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t found = next;
    if (i + 1 < count) next = find(i + 1);
    body(first + i * stride, tile.samples[i % 2], found);
  }
}

// to[0, D) = the weighted sum of the samples.
HWY_INLINE void add_samples(const Sample* samples, int64_t count, const float* head, int64_t stride,
                            const float* zeros, const float* weights, int64_t D, float* to) {
  for_each_vector(D, [&](auto d, int64_t channel) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int64_t s = 0; s < count; ++s) {
      const Sample& sample = samples[s];
      const Corners corners(sample, head, stride, zeros);
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
  const auto head_of = [&](int64_t place) { return args.head_of(place); };
  const auto add = [&](int64_t place, const Sample* samples, int64_t count) HWY_ATTR {
    add_samples(samples, count, args.head_of(place), args.M * args.D, tile.zeros,
                args.weights + place * args.samples(), args.D, args.output + place * args.D);
  };
  for_each_place<Use::kRead>(args, tile, {0, args.L}, begin * args.M, (end - begin) * args.M, 1, args.D, head_of,
                             add);
}

// sums [3, kPartialSums] = the partial sums over channels of a gradient times the value of a sample, and times its
// derivatives along y and x.
HWY_INLINE void sum_channels(const Sample& sample, const Corners& corners, const float* grad, int64_t D,
                             float* sums) {
  const PartialSumTag d;
  using V = hn::Vec<PartialSumTag>;
  HWY_ALIGN float edge[kPartialSums];
  for (int64_t i = 0; i < kPartialSums; i += kPartialSumLanes) {
    auto sum = hn::Zero(d), sum_y = hn::Zero(d), sum_x = hn::Zero(d);
    for (int64_t channel = i; channel < D; channel += kPartialSums) {
      // Channels past the last are zeros; their products do not change a sum.
      const auto load = [&](const float* row) HWY_ATTR {
        if (HWY_LIKELY(channel + kPartialSumLanes <= D)) return hn::LoadU(d, row + channel);
        std::fill(std::copy(row + channel, row + D, edge), edge + kPartialSumLanes, 0.0F);
        return hn::Load(d, edge);
      };
      const auto times = [&](float weight, V v) HWY_ATTR { return hn::Mul(hn::Set(d, weight), v); };
      const V v0 = load(corners.rows[0]), v1 = load(corners.rows[1]);
      const V v2 = load(corners.rows[2]), v3 = load(corners.rows[3]), g = load(grad);
      const float* const w = sample.weights;
      const V v = hn::Add(hn::Add(hn::Add(times(w[0], v0), times(w[1], v1)), times(w[2], v2)), times(w[3], v3));
      const V dy = hn::Add(times(sample.of_left, hn::Sub(v2, v0)), times(sample.of_right, hn::Sub(v3, v1)));
      const V dx = hn::Add(times(sample.of_top, hn::Sub(v1, v0)), times(sample.of_bottom, hn::Sub(v3, v2)));
      sum = hn::Add(sum, hn::Mul(g, v));
      sum_y = hn::Add(sum_y, hn::Mul(g, dy));
      sum_x = hn::Add(sum_x, hn::Mul(g, dx));
    }
    hn::StoreU(sum, d, sums + i);
    hn::StoreU(sum_y, d, sums + kPartialSums + i);
    hn::StoreU(sum_x, d, sums + 2 * kPartialSums + i);
  }
}

void differentiate(const BackwardArgs& args, int64_t begin, int64_t end, Task& task) {
  const DifferentiateTile tile(task.nram, args);
  std::fill_n(tile.zeros, args.D, 0.0F);
  const auto head_of = [&](int64_t place) { return args.head_of(place); };
  const auto set_gradients = [&](int64_t place, const Sample* samples, int64_t count) HWY_ATTR {
    const int64_t first = place * args.samples();
    std::fill_n(args.grad_locations + 2 * first, 2 * args.samples(), 0.0F);
    std::fill_n(args.grad_weights + first, args.samples(), 0.0F);
    const float* const head = args.head_of(place);
    for (int64_t s = 0; s < count; ++s) {
      const Corners corners(samples[s], head, args.M * args.D, tile.zeros);
      sum_channels(samples[s], corners, args.grad_output + place * args.D, args.D,
                   tile.partial_sums + 3 * s * kPartialSums);
    }
    for (int64_t row = 0; row < 3 * count; row += kPartialSumLanes) {
      add_partial_sums(tile.partial_sums + row * kPartialSums, tile.totals + row);
    }
    for (int64_t s = 0; s < count; ++s) {
      const float* const totals = tile.totals + 3 * s;
      const int64_t i = first + samples[s].number;
      args.grad_weights[i] = totals[0];
      args.grad_locations[2 * i] = samples[s].width * (args.weights[i] * totals[2]);
      args.grad_locations[2 * i + 1] = samples[s].height * (args.weights[i] * totals[1]);
    }
  };
  for_each_place<Use::kRead>(args, tile, {0, args.L}, begin * args.M, (end - begin) * args.M, 1, args.D, head_of,
                             set_gradients);
}

// Adds weights[i] * (factor * grad[0, channels)) to the pixels of a sample that are inside the image: to the
// channels from grads + keys[i] * stride on.
HWY_INLINE void add_to_pixels(const Sample& sample, float factor, const float* grad, int64_t channels,
                              int64_t stride, float* grads) {
  for_each_vector(channels, [&](auto d, int64_t channel) HWY_ATTR {
    const auto scaled = hn::Mul(hn::Set(d, factor), hn::LoadU(d, grad + channel));
    HWY_UNROLL(4) for (int i = 0; i < 4; ++i) {
      if (sample.keys[i] < 0) continue;
      float* const to = grads + sample.keys[i] * stride + channel;
      hn::StoreU(hn::Add(hn::LoadU(d, to), hn::Mul(hn::Set(d, sample.weights[i]), scaled)), d, to);
    }
  });
}

// Prefetches the inputs of a place for scatter(): the places of a head are too far apart for the hardware
// prefetcher.
HWY_INLINE void prefetch_inputs(const BackwardArgs& args, int64_t place, Range levels) {
  const int64_t first = (place * args.L + levels.begin) * args.P, samples = levels.size() * args.P;
  prefetch_row<Use::kRead>(args.grad_output + place * args.D, args.D * int64_t{sizeof(float)});
  prefetch_row<Use::kRead>(args.locations + first * 2, samples * int64_t{2 * sizeof(float)});
  prefetch_row<Use::kRead>(args.weights + first, samples * int64_t{sizeof(float)});
}

void scatter(const ScatterArgs& args, int64_t begin, int64_t end, Task& task) {
  const SampleTile tile(task.nram, args);
  const int64_t stride = args.M * args.D;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t part = item / args.channel_parts();
    const int64_t head = part / args.level_parts() % args.M, b = part / args.level_parts() / args.M;
    const int64_t level = part % args.level_parts() * args.part_levels;
    const Range levels{level, std::min(level + args.part_levels, args.L)};
    const int64_t first = item % args.channel_parts() * args.part_channels;
    const int64_t channels = std::min(args.part_channels, args.D - first);
    float* const grads = args.grad_value + (b * args.K * args.M + head) * args.D + first;
    const int64_t last = args.place(b, args.Q - 1, head);
    const auto add = [&](int64_t place, const Sample* samples, int64_t count) HWY_ATTR {
      prefetch_inputs(args, std::min(place + kPlacesAhead * args.M, last), levels);
      for (int64_t s = 0; s < count; ++s) {
        const float factor = args.weights[place * args.samples() + samples[s].number];
        add_to_pixels(samples[s], factor, args.grad_output + place * args.D + first, channels, stride, grads);
      }
    };
    for_each_place<Use::kWrite>(
        args, tile, levels, args.place(b, 0, head), args.Q, args.M, channels, [&](int64_t) { return grads; }, add);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::ms_deform_attn::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::ms_deform_attn::native {

MLUOP_EXPORT_KERNEL(attend_kernel, attend, ForwardArgs);
MLUOP_EXPORT_KERNEL(differentiate_kernel, differentiate, BackwardArgs);
MLUOP_EXPORT_KERNEL(scatter_kernel, scatter, ScatterArgs);

}  // namespace mluop::ms_deform_attn::native
#endif
