#include "reference/dcn.h"

#include <cmath>

#include "reference/element.h"

namespace mluop::reference {
namespace {

using Problem = DcnProblem;

// A channel of the input at a filter offset of an output pixel; it is multiplied by the filters of its group.
struct Column {
  int64_t n, channel;
  int64_t sample;                // element of the mask
  int64_t output, filter;        // elements of the output and the filter for the first output channel of the group
  int64_t count, filter_stride;  // output channels of the group; distance between their filter elements
};

// The four pixels around a position, and the distances from the first pixel.
struct Position {
  // The pixel below (dy 1) or above, right (dx 1) or left; -1 outside the image.
  int64_t pixel(int64_t dy, int64_t dx) const {
    const int64_t row = static_cast<int64_t>(std::floor(y)) + dy,
                  column = static_cast<int64_t>(std::floor(x)) + dx;
    return inside && 0 <= row && row < H && 0 <= column && column < W ? row * W + column : -1;
  }
  double along_y(int64_t dy) const { return dy == 1 ? y - std::floor(y) : 1 - (y - std::floor(y)); }
  double along_x(int64_t dx) const { return dx == 1 ? x - std::floor(x) : 1 - (x - std::floor(x)); }

  int64_t H, W;
  double y, x;
  bool inside;
};

// The position of a sample.
template <class T>
Position position_of(const Problem& p, const DcnSamples<T>& samples, int64_t sample) {
  const int64_t offsets = p.kernel_h * p.kernel_w, pixel = sample / (offsets * p.deformable_groups);
  const int64_t i = sample % offsets / p.kernel_w, j = sample % p.kernel_w;
  const float y = static_cast<float>(pixel / p.Wo % p.Ho * p.stride_h - p.pad_top + i * p.dilation_h) +
                  to_f32(samples.offset[2 * sample]);
  const float x = static_cast<float>(pixel % p.Wo * p.stride_w - p.pad_left + j * p.dilation_w) +
                  to_f32(samples.offset[2 * sample + 1]);
  const bool inside = y > -1 && x > -1 && y < static_cast<float>(p.H) && x < static_cast<float>(p.W);
  return {p.H, p.W, inside ? double{y} : 0, inside ? double{x} : 0, inside};
}

template <class T>
double mask_of(const DcnSamples<T>& samples, int64_t sample) {
  return samples.mask == nullptr ? 1 : double{to_f32(samples.mask[sample])};
}

// Calls visit(column, position) for each column, with the position of its sample.
template <class T, class Visit>
void for_each_column(const Problem& p, const DcnSamples<T>& samples, const Visit& visit) {
  const int64_t K = p.kernel_h * p.kernel_w, inputs = p.Ci / p.groups, outputs = p.Co / p.groups;
  for (int64_t pixel = 0; pixel < p.N * p.Ho * p.Wo; ++pixel) {
    for (int64_t sample = pixel * p.deformable_groups * K; sample < (pixel + 1) * p.deformable_groups * K;
         ++sample) {
      const Position position = position_of(p, samples, sample);
      const int64_t d = sample / K % p.deformable_groups, k = sample % K, channels = p.Ci / p.deformable_groups;
      for (int64_t channel = d * channels; channel < (d + 1) * channels; ++channel) {
        const int64_t first = channel / inputs * outputs;
        visit(Column{pixel / (p.Ho * p.Wo), channel, sample, pixel * p.Co + first,
                     (first * K + k) * inputs + channel % inputs, outputs, K * inputs},
              position);
      }
    }
  }
}

// Calls visit(dy, dx, element, value) for the pixels around a position that are inside the image.
template <class T, class Visit>
void for_each_pixel(const Problem& p, const DcnSamples<T>& samples, const Position& position, const Column& column,
                    const Visit& visit) {
  for (int64_t dy = 0; dy < 2; ++dy) {
    for (int64_t dx = 0; dx < 2; ++dx) {
      const int64_t pixel = position.pixel(dy, dx);
      if (pixel < 0) continue;
      const int64_t element = (column.n * p.H * p.W + pixel) * p.Ci + column.channel;
      visit(dy, dx, element, double{to_f32(samples.input[element])});
    }
  }
}

// The interpolated channel times the mask.
template <class T>
double value_of(const Problem& p, const DcnSamples<T>& samples, const Position& position, const Column& column) {
  double value = 0;
  for_each_pixel(p, samples, position, column, [&](int64_t dy, int64_t dx, int64_t, double pixel) {
    value += position.along_y(dy) * position.along_x(dx) * pixel;
  });
  return value * mask_of(samples, column.sample);
}

}  // namespace

template <class T>
void dcn_forward(const Problem& p, const DcnSamples<T>& samples, const T* filter, const T* bias, double* output) {
  for (int64_t i = 0; i < p.N * p.Ho * p.Wo * p.Co; ++i) {
    output[i] = bias == nullptr ? 0 : double{to_f32(bias[i % p.Co])};
  }
  for_each_column(p, samples, [&](const Column& column, const Position& position) {
    const double value = value_of(p, samples, position, column);
    for (int64_t co = 0; co < column.count; ++co) {
      output[column.output + co] += double{to_f32(filter[column.filter + co * column.filter_stride])} * value;
    }
  });
}

template <class T>
void dcn_backward_data(const Problem& p, const DcnSamples<T>& samples, const T* filter, const T* grad_output,
                       bool adds_slopes, double* grad_input, double* grad_offset, double* grad_mask) {
  for_each_column(p, samples, [&](const Column& column, const Position& position) {
    const double mask = mask_of(samples, column.sample);
    double grad = 0;
    for (int64_t co = 0; co < column.count; ++co) {
      grad += double{to_f32(filter[column.filter + co * column.filter_stride])} *
              double{to_f32(grad_output[column.output + co])};
    }
    for_each_pixel(p, samples, position, column, [&](int64_t dy, int64_t dx, int64_t element, double value) {
      const double y = position.along_y(dy), x = position.along_x(dx);
      grad_input[element] += mask * y * x * grad;
      grad_offset[2 * column.sample] += (dy == 1 || adds_slopes ? x : -x) * value * grad;
      grad_offset[2 * column.sample + 1] += (dx == 1 || adds_slopes ? y : -y) * value * grad;
      if (grad_mask != nullptr) grad_mask[column.sample] += y * x * value * grad;
    });
  });
  // Positions outside the image add nothing.
  for (int64_t sample = 0; sample < p.N * p.Ho * p.Wo * p.deformable_groups * p.kernel_h * p.kernel_w; ++sample) {
    if (!position_of(p, samples, sample).inside) continue;
    for (const int64_t axis : {0, 1}) grad_offset[2 * sample + axis] *= mask_of(samples, sample);
  }
}

template <class T>
void dcn_backward_weight(const Problem& p, const DcnSamples<T>& samples, const T* grad_output, double* grad_filter,
                         double* grad_bias) {
  for_each_column(p, samples, [&](const Column& column, const Position& position) {
    const double value = value_of(p, samples, position, column);
    for (int64_t co = 0; co < column.count; ++co) {
      grad_filter[column.filter + co * column.filter_stride] +=
          double{to_f32(grad_output[column.output + co])} * value;
    }
  });
  for (int64_t i = 0; grad_bias != nullptr && i < p.N * p.Ho * p.Wo * p.Co; ++i) {
    grad_bias[i % p.Co] += double{to_f32(grad_output[i])};
  }
}

template void dcn_forward(const Problem&, const DcnSamples<float>&, const float*, const float*, double*);
template void dcn_forward(const Problem&, const DcnSamples<Half>&, const Half*, const Half*, double*);
template void dcn_forward(const Problem&, const DcnSamples<BFloat16>&, const BFloat16*, const BFloat16*, double*);
template void dcn_backward_data(const Problem&, const DcnSamples<float>&, const float*, const float*, bool,
                                double*, double*, double*);
template void dcn_backward_data(const Problem&, const DcnSamples<Half>&, const Half*, const Half*, bool, double*,
                                double*, double*);
template void dcn_backward_data(const Problem&, const DcnSamples<BFloat16>&, const BFloat16*, const BFloat16*,
                                bool, double*, double*, double*);
template void dcn_backward_weight(const Problem&, const DcnSamples<float>&, const float*, double*, double*);
template void dcn_backward_weight(const Problem&, const DcnSamples<Half>&, const Half*, double*, double*);
template void dcn_backward_weight(const Problem&, const DcnSamples<BFloat16>&, const BFloat16*, double*, double*);

}  // namespace mluop::reference
