// Oracle of synchronized batch normalization: sums and maps over the elements of channels.
#pragma once

#include <cstdint>

namespace mluop::reference {

// The elements of [N, C, S]: element(n, c, s) is at (n C + c) S + s. Rows of channels have S = 1.
struct ChannelShape {
  int64_t N, C, S;
  int64_t terms() const { return N * S; }
};

// Calls visit(c, i) for each element i of each channel c, in order of memory.
template <class Visit>
void for_each_element(const ChannelShape& shape, const Visit& visit) {
  for (int64_t i = 0; i < shape.N * shape.C * shape.S; ++i) visit(i / shape.S % shape.C, i);
}

// Statistics of W processes, combined.
struct GatheredStats {
  int64_t W, C;
  const float *mean_all, *invstd_all;  // [W, C]
  const double* counts;                // [W]
  double eps;

  double count() const;
  // The mean and the biased variance of channel c; `count` is not 0.
  double mean(int64_t c) const;
  double variance(int64_t c) const;
};

// Numbers of a channel: (x - mean) factor is normalized; each operation is rounded to float.
struct Channel {
  float mean, factor, scale, offset;

  float norm(float x) const;
  // norm(x) scale + offset
  float output(float x) const;
  // ((gradient - offset) - norm(x)) scale
  float gradient(float gradient, float x) const;
};

// momentum now + (1 - momentum) before
double moved(double momentum, double now, double before);

}  // namespace mluop::reference
