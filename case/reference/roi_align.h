// Oracles of RoI align, forward and backward: visit all bins in order.
#pragma once

#include <cstdint>

namespace mluop::reference {

// Letters as in mluOpRoiAlignForward_v2.
struct RoiAlignProblem {
  int64_t pixel(int64_t b, int64_t y, int64_t x, int64_t c) const {
    return channels_last ? ((b * H + y) * W + x) * C + c : ((b * C + c) * H + y) * W + x;
  }
  int64_t bin(int64_t r, int64_t p, int64_t q, int64_t c) const {
    return channels_last ? ((r * PH + p) * PW + q) * C + c : ((r * C + c) * PH + p) * PW + q;
  }

  int64_t B, C, H, W, R, PH, PW;
  bool channels_last, aligned;
  int sampling_ratio;
  float spatial_scale;
};

// Adds the weighted pixels of means in double; positions of samples and weights of a sample along an axis are
// fp32. T: float, Half or BFloat16.
template <class T>
void roi_align_means(const RoiAlignProblem& problem, const T* boxes, const T* input, double* output);
template <class T>
void roi_align_means_backward(const RoiAlignProblem& problem, const T* boxes, const T* grads, double* grads_image);

// Maxima, and the sums of their gradients, have the bits of the fp32 loop.
template <class T>
void roi_align_maxima(const RoiAlignProblem& problem, const T* boxes, const T* input, T* output, T* argmax_x,
                      T* argmax_y);
template <class T>
void roi_align_maxima_backward(const RoiAlignProblem& problem, const T* boxes, const T* grads, const T* argmax_x,
                               const T* argmax_y, T* grads_image);

}  // namespace mluop::reference
