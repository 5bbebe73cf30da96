// The accuracy metrics of accelerator teams, defined for NaN and infinity too.
#pragma once

#include <span>

namespace mluop::test {

// diff1: mean relative error, sum |e - b| / sum |b|. diff2: root relative error, sqrt(sum (e - b)^2 / sum b^2).
struct Differences {
  double diff1;
  double diff2;
};

// The metrics of evaluated data against a baseline, in double. NaN and infinity must be at the same indices in
// both and count as equal. Both metrics are infinity if they are not, if the sizes differ, or if only the baseline
// is zero.
Differences differences(std::span<const float> evaluated, std::span<const float> baseline);

}  // namespace mluop::test
