#include "reference/sync_batch_norm.h"

namespace mluop::reference {

double GatheredStats::count() const {
  double sum = 0;
  for (int64_t w = 0; w < W; ++w) sum += counts[w];
  return sum;
}

double GatheredStats::mean(int64_t c) const {
  double sum = 0;
  for (int64_t w = 0; w < W; ++w) {
    if (counts[w] != 0) sum += mean_all[w * C + c] * counts[w];
  }
  return sum / count();
}

double GatheredStats::variance(int64_t c) const {
  const double center = mean(c);
  double sum = 0;
  for (int64_t w = 0; w < W; ++w) {
    if (counts[w] == 0) continue;
    const double invstd = invstd_all[w * C + c], off = mean_all[w * C + c] - center;
    sum += (1 / (invstd * invstd) - eps + off * off) * counts[w];
  }
  const double variance = sum / count();
  return variance < 0 ? 0 : variance;
}

float Channel::norm(float x) const { return (x - mean) * factor; }
float Channel::output(float x) const { return norm(x) * scale + offset; }
float Channel::gradient(float gradient, float x) const { return ((gradient - offset) - norm(x)) * scale; }

double moved(double momentum, double now, double before) { return momentum * now + (1 - momentum) * before; }

}  // namespace mluop::reference
