// The discrete Fourier transform of one signal, in double. Objects are immutable: threads share them.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>
// After the headers that it requires.
#include <kissfft/kissfft.hh>

namespace mluop::fft {

using Complex = std::complex<double>;

// exp(-2 pi i k / n) for 0 <= k <= n, exact at multiples of a quarter turn.
Complex unit(int64_t k, int64_t n);

// The forward transform of n complex numbers. KissFFT computes lengths with the factors 2, 3 and 5 only, whose
// butterflies need no memory. Bluestein's algorithm turns any other length into a convolution of such a length:
// measured on AVX-512, it takes as long as KissFFT's general butterfly at length 14, a fifteenth at 194.
class Dft {
 public:
  explicit Dft(int64_t n);

  // Complex numbers that forward() uses in addition to its operands.
  int64_t scratch_count() const { return is_direct_ ? 0 : 2 * padded_; }
  // `from` and `to` do not overlap.
  void forward(const Complex* from, Complex* to, Complex* scratch) const;

 private:
  int64_t n_;
  bool is_direct_;
  int64_t padded_;
  kissfft<double> engine_;       // of length padded_
  std::vector<Complex> chirp_;   // exp(-pi i k^2 / n), unless direct
  std::vector<Complex> filter_;  // the transform of the conjugate chirp, divided by padded_
};

enum class Kind { kComplex, kFromReal, kToReal };

// The transform of a signal of length n. A real signal of even length is computed as n / 2 complex numbers.
class Signal {
 public:
  Signal(Kind kind, int64_t n);

  // Elements of the operand and of the result: n, or n / 2 + 1 complex numbers of a real signal.
  int64_t input_count() const { return kind_ == Kind::kToReal ? n_ / 2 + 1 : n_; }
  int64_t output_count() const { return kind_ == Kind::kFromReal ? n_ / 2 + 1 : n_; }
  // Complex numbers of each buffer.
  int64_t buffer_count() const { return n_ + 1; }
  int64_t scratch_count() const { return dft_.scratch_count(); }

  // Transforms `from`: complex numbers, or packed real numbers. Returns the result, which lies in `from` or in
  // `to`; both are overwritten. backward: for complex signals. All numbers are NaN if one of `from` is not finite.
  const double* transform(Complex* from, Complex* to, Complex* scratch, bool backward) const;

 private:
  const double* from_real(Complex* from, Complex* to, Complex* scratch) const;
  const double* to_real(Complex* from, Complex* to, Complex* scratch) const;

  Kind kind_;
  int64_t n_;
  bool is_halved_;
  Dft dft_;
  std::vector<Complex> twiddles_;  // of a halved signal: unit(k, n), 0 <= k <= n / 2
};

}  // namespace mluop::fft
