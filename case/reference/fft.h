// Oracle of mluOpExecFFT: the sums of the definition in long double, divided by the prime factors of the length.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <vector>

namespace mluop::reference {

struct FftProblem {
  enum class Kind { kComplex, kFromReal, kToReal };

  Kind kind;
  bool backward;
  int rank;
  std::array<int64_t, 2> n;      // one-dimensional: {1, n}
  std::array<int64_t, 2> shape;  // of the operand
  double scale;
  bool adds_magnitudes;  // adds where it would subtract
};

// The transform of an item of the batch: row-major complex numbers, real ones with imaginary parts of 0.
std::vector<std::complex<double>> fft(const FftProblem& problem, const std::vector<std::complex<double>>& input);

}  // namespace mluop::reference
