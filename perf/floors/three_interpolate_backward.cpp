#include "perf/floors/three_interpolate_backward.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "perf/floors/interpolate_kernels.h"
#include "perf/support/buffer.h"
#include "perf/support/timing.h"

namespace mluop::perf {
namespace {

int64_t whole(int64_t count, int64_t unit) { return count / unit * unit; }

InterpolateBatch batch_of(const int32_t* indices, const float* weights, int64_t points, int64_t features) {
  InterpolateBatch batch;
  batch.weights.assign(weights, weights + points * 3);
  // The last features, which fill no square, are added to others.
  const auto feature = [&](int64_t slot) { return static_cast<uint32_t>(indices[slot] % features); };
  for (int64_t slot = 0; slot < points * 3; slot += 2) {
    batch.places.push_back((feature(slot) | uint64_t{feature(slot + 1)} << 32) * kSquare);
  }
  batch.grouped.resize(static_cast<size_t>(points * 3));
  for (int64_t first = 0; first < points; first += kTilePoints) {
    const int64_t begin = first * 3, end = std::min(first + kTilePoints, points) * 3;
    std::vector<uint32_t> next(static_cast<size_t>(features) + 1);
    for (int64_t slot = begin; slot < end; ++slot) ++next[feature(slot) + 1];
    next[0] = static_cast<uint32_t>(begin);
    for (size_t m = 1; m < next.size(); ++m) next[m] += next[m - 1];
    batch.starts.insert(batch.starts.end(), next.begin(), next.end());
    for (int64_t slot = begin; slot < end; ++slot) {
      batch.grouped[next[feature(slot)]++] = {static_cast<uint32_t>((slot - begin) / 3), weights[slot]};
    }
  }
  return batch;
}

// Of the best of a few calls.
double least_seconds_of(const std::function<void()>& run) {
  constexpr int kCalls = 4;
  auto least = std::numeric_limits<double>::infinity();
  for (int call = 0; call < kCalls; ++call) least = std::min(least, seconds_of(run));
  return least;
}

class InterpolateFloor {
 public:
  InterpolateFloor(const InterpolateTensors& tensors, std::span<const float> weights, int threads)
      : tensors_(tensors),
        strips_(tensors.sizes.C / kSquare),
        points_(whole(tensors.sizes.N, line_points(tensors.half))),
        features_(whole(tensors.sizes.M, kSquare)),
        most_strips_(strips_ % kMostStrips == 0 ? kMostStrips : 1) {
    const int64_t slots = tensors.sizes.N * 3;
    for (int64_t b = 0; b < tensors.sizes.B; ++b) {
      batches_.push_back(batch_of(tensors.indices + b * slots, weights.data() + b * slots, points_, features_));
    }
    for (int id = 0; id < threads; ++id) {
      scratch_.emplace_back(kSquareElements + (kTilePoints + features_) * most_strips_ * kSquare);
    }
    choose_fastest();
  }

  void run() { run(way_); }

 private:
  struct Way {
    Interpolate kernel;
    int64_t strips;  // of a unit
    bool fetch_ahead, stream;
  };

  static constexpr int64_t kSquareElements = kSquare * kSquare;

  void choose_fastest() {
    const InterpolateKernels& kernels = interpolate_kernels();
    const size_t dtype = tensors_.half ? 1 : 0;
    const auto& by_feature = most_strips_ == 1 ? kernels.by_feature : kernels.by_feature_of_most_strips;
    auto least = std::numeric_limits<double>::infinity();
    for (const Way& way :
         {Way{kernels.in_order[dtype], 1, false, false}, Way{kernels.in_order[dtype], 1, false, true},
          Way{kernels.in_order[dtype], 1, true, false}, Way{kernels.in_order[dtype], 1, true, true},
          Way{by_feature[dtype], most_strips_, false, false}}) {
      const double seconds = least_seconds_of([&] { run(way); });
      if (seconds < least) way_ = way;
      least = std::min(least, seconds);
    }
  }

  void run(const Way& way) {
    const auto threads = static_cast<int>(scratch_.size());
    const auto& [B, C, N, M] = tensors_.sizes;
    const int64_t units = B * strips_ / way.strips;
    parallel(threads, [&, C = C, N = N, M = M](int id) {
      float* square = scratch_[static_cast<size_t>(id)].data();
      float* tile = square + kSquareElements;
      way.kernel({batches_.data(), strips_, points_, features_, C, N, M, tensors_.grad_output,
                  tensors_.grad_features, way.fetch_ahead, way.stream, share(units, threads, id),
                  share(units, threads, id + 1), square, tile, tile + kTilePoints * most_strips_ * kSquare});
    });
  }

  InterpolateTensors tensors_;
  int64_t strips_, points_, features_;
  int64_t most_strips_;
  std::vector<InterpolateBatch> batches_;
  std::vector<Buffer<float>> scratch_;  // of each thread
  Way way_{};
};

}  // namespace

std::function<void()> three_interpolate_backward_floor(const InterpolateTensors& tensors,
                                                       std::span<const float> weights, int threads) {
  const auto& [B, C, N, M] = tensors.sizes;
  if (std::min(C, M) < kSquare || N < line_points(tensors.half)) return {};
  const auto floor = std::make_shared<InterpolateFloor>(tensors, weights, threads);
  return [floor] { floor->run(); };
}

}  // namespace mluop::perf
