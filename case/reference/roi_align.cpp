#include "reference/roi_align.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "reference/element.h"

namespace mluop::reference {
namespace {

// The positions of the samples of a RoI along an axis.
struct Axis {
  Axis(const RoiAlignProblem& problem, float low, float high, int64_t bins) {
    const float offset = problem.aligned ? 0.5F : 0.0F;
    start = low * problem.spatial_scale - offset;
    size = high * problem.spatial_scale - offset - start;
    if (!problem.aligned) size = std::max(size, 1.0F);
    bin = size / static_cast<float>(bins);
    const float wanted = std::min(std::ceil(bin), float{1 << 24});
    samples = problem.sampling_ratio > 0 ? problem.sampling_ratio : wanted >= 1 ? static_cast<int>(wanted) : 0;
  }

  float position(int64_t p, int i) const {
    return start + static_cast<float>(p) * bin +
           (static_cast<float>(i) + 0.5F) * bin / static_cast<float>(samples);
  }

  // The samples [first, last) of bin p with positions from -1 to `pixels`; positions ascend.
  std::pair<int, int> inside(int64_t p, int64_t pixels) const {
    const auto first_where = [&](const auto& is_beyond) {
      int low = 0, high = samples;
      while (low < high) {
        const int middle = low + (high - low) / 2;
        if (is_beyond(position(p, middle))) {
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      return low;
    };
    const int first = first_where([](float position) { return position >= -1; });
    const int last = first_where([&](float position) { return !(position <= static_cast<float>(pixels)); });
    return {first, std::max(first, last)};
  }

  float start, size, bin;
  int samples;
};

// The pixels of a sample and their weights.
struct Corners {
  int64_t y[2], x[2];
  float of_y[2], of_x[2];
};

void interpolate(float position, int64_t pixels, int64_t* at, float* weights) {
  position = std::max(position, 0.0F);
  at[0] = std::min(static_cast<int64_t>(position), pixels - 1);
  at[1] = std::min(at[0] + 1, pixels - 1);
  weights[1] = at[0] == pixels - 1 ? 0 : position - static_cast<float>(at[0]);
  weights[0] = 1 - weights[1];
}

bool is_inside(float y, float x, const RoiAlignProblem& problem) {
  return y >= -1 && y <= static_cast<float>(problem.H) && x >= -1 && x <= static_cast<float>(problem.W);
}

Corners corners_of(float y, float x, const RoiAlignProblem& problem) {
  Corners corners{};
  interpolate(y, problem.H, corners.y, corners.of_y);
  interpolate(x, problem.W, corners.x, corners.of_x);
  return corners;
}

template <class T, class Visit>
void for_each_bin(const RoiAlignProblem& problem, const T* boxes, const Visit& visit) {
  for (int64_t r = 0; r < problem.R; ++r) {
    const T* box = boxes + r * 5;
    const Axis y(problem, to_f32(box[2]), to_f32(box[4]), problem.PH),
        x(problem, to_f32(box[1]), to_f32(box[3]), problem.PW);
    for (int64_t p = 0; p < problem.PH; ++p) {
      for (int64_t q = 0; q < problem.PW; ++q) visit(r, static_cast<int64_t>(to_f32(box[0])), p, q, y, x);
    }
  }
}

// Calls visit(i) for the samples of a bin along an axis; of the samples outside `pixels`, only the first on each
// side.
template <class Visit>
void for_each_position(const Axis& axis, int64_t p, int64_t pixels, const Visit& visit) {
  const auto [first, last] = axis.inside(p, pixels);
  if (first > 0) visit(axis.position(p, 0));
  for (int i = first; i < last; ++i) visit(axis.position(p, i));
  if (last < axis.samples) visit(axis.position(p, last));
}

// Calls visit(y, x) for the samples of a bin in order, except samples outside the image that follow another one.
template <class Visit>
void for_each_sample(const RoiAlignProblem& problem, const Axis& y, const Axis& x, int64_t p, int64_t q,
                     const Visit& visit) {
  if (!(y.size >= 0 && x.size >= 0)) return;
  for_each_position(y, p, problem.H, [&](float at_y) {
    for_each_position(x, q, problem.W, [&](float at_x) { visit(at_y, at_x); });
  });
}

double divisor(const Axis& y, const Axis& x) { return std::max(y.samples, 1) * double(std::max(x.samples, 1)); }

// Calls visit(pixel, weight) once for each pixel of a bin along an axis, with the sum of its weights in the
// samples.
template <class Visit>
void for_each_tap(const Axis& axis, int64_t p, int64_t pixels, const Visit& visit) {
  std::map<int64_t, double> weights;
  const auto [first, last] = axis.inside(p, pixels);
  for (int i = first; i < last; ++i) {
    const float position = axis.position(p, i);
    int64_t at[2];
    float of[2];
    interpolate(position, pixels, at, of);
    for (const int j : {0, 1}) weights[at[j]] += of[j];
  }
  for (const auto& [pixel, weight] : weights) visit(pixel, weight);
}

// Calls visit(y, x, weight) for the pixels of a bin; the weight is the product of row weight and column weight,
// divided by the number of samples.
template <class Visit>
void for_each_pixel(const RoiAlignProblem& problem, const Axis& y_axis, const Axis& x_axis, int64_t p, int64_t q,
                    const Visit& visit) {
  if (!(y_axis.size >= 0 && x_axis.size >= 0)) return;
  for_each_tap(y_axis, p, problem.H, [&](int64_t y, double of_y) {
    for_each_tap(x_axis, q, problem.W,
                 [&](int64_t x, double of_x) { visit(y, x, of_y * of_x / divisor(y_axis, x_axis)); });
  });
}

}  // namespace

template <class T>
void roi_align_means(const RoiAlignProblem& problem, const T* boxes, const T* input, double* output) {
  for_each_bin(problem, boxes,
               [&](int64_t r, int64_t b, int64_t p, int64_t q, const Axis& y_axis, const Axis& x_axis) {
                 for_each_pixel(problem, y_axis, x_axis, p, q, [&](int64_t y, int64_t x, double weight) {
                   for (int64_t c = 0; c < problem.C; ++c) {
                     output[problem.bin(r, p, q, c)] += weight * to_f32(input[problem.pixel(b, y, x, c)]);
                   }
                 });
               });
}

template <class T>
void roi_align_means_backward(const RoiAlignProblem& problem, const T* boxes, const T* grads,
                              double* grads_image) {
  for_each_bin(problem, boxes,
               [&](int64_t r, int64_t b, int64_t p, int64_t q, const Axis& y_axis, const Axis& x_axis) {
                 for_each_pixel(problem, y_axis, x_axis, p, q, [&](int64_t y, int64_t x, double weight) {
                   for (int64_t c = 0; c < problem.C; ++c) {
                     grads_image[problem.pixel(b, y, x, c)] += weight * to_f32(grads[problem.bin(r, p, q, c)]);
                   }
                 });
               });
}

template <class T>
void roi_align_maxima(const RoiAlignProblem& problem, const T* boxes, const T* input, T* output, T* argmax_x,
                      T* argmax_y) {
  for_each_bin(problem, boxes,
               [&](int64_t r, int64_t b, int64_t p, int64_t q, const Axis& y_axis, const Axis& x_axis) {
                 for (int64_t c = 0; c < problem.C; ++c) {
                   float maximum = std::numeric_limits<float>::lowest(), at_y = -1, at_x = -1;
                   bool has_samples = false;
                   for_each_sample(problem, y_axis, x_axis, p, q, [&](float y, float x) {
                     has_samples = true;
                     float value = 0;
                     if (is_inside(y, x, problem)) {
                       const Corners at = corners_of(y, x, problem);
                       const auto term = [&](int i, int j) {
                         return at.of_y[i] * at.of_x[j] * to_f32(input[problem.pixel(b, at.y[i], at.x[j], c)]);
                       };
                       value = term(0, 0) + term(0, 1) + term(1, 0) + term(1, 1);
                     }
                     if (!(value > maximum)) return;
                     maximum = value;
                     at_y = y;
                     at_x = x;
                   });
                   const int64_t i = problem.bin(r, p, q, c);
                   put(has_samples ? maximum : 0, output + i);
                   put(at_y, argmax_y + i);
                   put(at_x, argmax_x + i);
                 }
               });
}

template <class T>
void roi_align_maxima_backward(const RoiAlignProblem& problem, const T* boxes, const T* grads, const T* argmax_x,
                               const T* argmax_y, T* grads_image) {
  std::vector<float> sums(static_cast<size_t>(problem.B * problem.C * problem.H * problem.W));
  for_each_bin(problem, boxes, [&](int64_t r, int64_t b, int64_t p, int64_t q, const Axis&, const Axis&) {
    for (int64_t c = 0; c < problem.C; ++c) {
      const int64_t bin = problem.bin(r, p, q, c);
      const float y = to_f32(argmax_y[bin]), x = to_f32(argmax_x[bin]);
      if (y == -1 || !is_inside(y, x, problem)) continue;
      const Corners at = corners_of(y, x, problem);
      for (const int i : {0, 1}) {
        for (const int j : {0, 1}) {
          sums[static_cast<size_t>(problem.pixel(b, at.y[i], at.x[j], c))] +=
              to_f32(grads[bin]) * (at.of_y[i] * at.of_x[j]);
        }
      }
    }
  });
  for (size_t i = 0; i < sums.size(); ++i) put(sums[i], grads_image + i);
}

#define MLUOP_INSTANTIATE(T)                                                                   \
  template void roi_align_means(const RoiAlignProblem&, const T*, const T*, double*);          \
  template void roi_align_means_backward(const RoiAlignProblem&, const T*, const T*, double*); \
  template void roi_align_maxima(const RoiAlignProblem&, const T*, const T*, T*, T*, T*);      \
  template void roi_align_maxima_backward(const RoiAlignProblem&, const T*, const T*, const T*, const T*, T*)

MLUOP_INSTANTIATE(float);
MLUOP_INSTANTIATE(Half);
MLUOP_INSTANTIATE(BFloat16);

}  // namespace mluop::reference
