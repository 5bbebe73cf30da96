#include "ops/fft/signal.h"

#include <algorithm>
#include <limits>
#include <numbers>
#include <utility>

namespace mluop::fft {
namespace {

bool has_small_factors(int64_t n) {
  for (const int64_t factor : {2, 3, 5}) {
    while (n % factor == 0) n /= factor;
  }
  return n == 1;
}

// KissFFT's general butterfly, which it also uses for length 1, writes to the object that threads share.
bool is_direct(int64_t n) { return n > 1 && has_small_factors(n); }

// The length of the transforms for length n: without wrapping, a convolution needs 2 n - 1.
int64_t padded_length(int64_t n) {
  if (is_direct(n)) return n;
  int64_t length = std::max<int64_t>(2 * n - 1, 2);
  while (!has_small_factors(length)) ++length;
  return length;
}

// A backward transform is a forward one with real and imaginary parts exchanged before and after it.
void exchange_parts(Complex* numbers, int64_t count) {
  for (int64_t i = 0; i < count; ++i) numbers[i] = {numbers[i].imag(), numbers[i].real()};
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool are_finite(const double* numbers, int64_t count) {
  double zero = 0;
  for (int64_t i = 0; i < count; ++i) zero += 0 * numbers[i];
  return zero == 0;
}

const double* numbers_of(const Complex* numbers) { return reinterpret_cast<const double*>(numbers); }

}  // namespace

Complex unit(int64_t k, int64_t n) {
  if (4 * k % n == 0) {
    constexpr Complex kQuarters[] = {{1, 0}, {0, -1}, {-1, 0}, {0, 1}};
    return kQuarters[4 * k / n % 4];
  }
  const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

Dft::Dft(int64_t n)
    : n_(n),
      is_direct_(is_direct(n)),
      padded_(padded_length(n)),
      engine_(static_cast<std::size_t>(padded_), false) {
  if (is_direct_) return;
  chirp_.resize(static_cast<size_t>(n));
  filter_.resize(static_cast<size_t>(padded_));
  std::vector<Complex> wrapped(static_cast<size_t>(padded_));
  const double scale = 1 / static_cast<double>(padded_);
  for (int64_t k = 0; k < n; ++k) {
    const Complex factor = unit(k * k % (2 * n), 2 * n);
    chirp_[static_cast<size_t>(k)] = factor;
    wrapped[static_cast<size_t>(k)] = std::conj(factor) * scale;
    if (k > 0) wrapped[static_cast<size_t>(padded_ - k)] = std::conj(factor) * scale;
  }
  engine_.transform(wrapped.data(), filter_.data());
}

void Dft::forward(const Complex* from, Complex* to, Complex* scratch) const {
  if (is_direct_) return engine_.transform(from, to);
  Complex* const padded = scratch;
  Complex* const spectrum = scratch + padded_;
  const auto n = static_cast<size_t>(n_), length = static_cast<size_t>(padded_);
  for (size_t i = 0; i < n; ++i) padded[i] = from[i] * chirp_[i];
  std::fill(padded + n, padded + length, Complex());
  engine_.transform(padded, spectrum);
  for (size_t i = 0; i < length; ++i) spectrum[i] *= filter_[i];
  exchange_parts(spectrum, padded_);
  engine_.transform(spectrum, padded);
  exchange_parts(padded, n_);
  for (size_t i = 0; i < n; ++i) to[i] = padded[i] * chirp_[i];
}

Signal::Signal(Kind kind, int64_t n)
    : kind_(kind), n_(n), is_halved_(kind != Kind::kComplex && n % 2 == 0), dft_(is_halved_ ? n / 2 : n) {
  if (!is_halved_) return;
  for (int64_t k = 0; k <= n / 2; ++k) twiddles_.push_back(unit(k, n));
}

const double* Signal::transform(Complex* from, Complex* to, Complex* scratch, bool backward) const {
  if (kind_ == Kind::kToReal) {
    // These parts have no effect.
    from[0].imag(0);
    if (is_halved_) from[n_ / 2].imag(0);
  }
  const int64_t numbers = input_count() * (kind_ == Kind::kFromReal ? 1 : 2);
  if (!are_finite(numbers_of(from), numbers)) {
    std::fill_n(to, buffer_count(), Complex(kNan, kNan));
    return numbers_of(to);
  }
  if (kind_ == Kind::kFromReal) return from_real(from, to, scratch);
  if (kind_ == Kind::kToReal) return to_real(from, to, scratch);
  if (backward) exchange_parts(from, n_);
  dft_.forward(from, to, scratch);
  if (backward) exchange_parts(to, n_);
  return numbers_of(to);
}

// With z[j] = x[2 j] + i x[2 j + 1], the transform of z has as parts the transforms e of the even and o of the odd
// elements; the transform of x is e + unit(k, n) o.
const double* Signal::from_real(Complex* from, Complex* to, Complex* scratch) const {
  if (!is_halved_) {
    const double* const numbers = numbers_of(from);
    for (int64_t i = 0; i < n_; ++i) to[i] = numbers[i];
    dft_.forward(to, from, scratch);
    return numbers_of(from);
  }
  const int64_t half = n_ / 2;
  dft_.forward(from, to, scratch);
  to[half] = to[0];
  for (int64_t k = 0; 2 * k <= half; ++k) {
    const Complex a = to[k], b = std::conj(to[half - k]);
    const Complex e = 0.5 * (a + b), difference = 0.5 * (a - b);
    const Complex o = twiddles_[static_cast<size_t>(k)] * Complex(difference.imag(), -difference.real());
    to[half - k] = std::conj(e - o);
    to[k] = e + o;
  }
  return numbers_of(to);
}

const double* Signal::to_real(Complex* from, Complex* to, Complex* scratch) const {
  const int64_t half = n_ / 2;
  if (!is_halved_) {
    to[0] = from[0];
    for (int64_t k = 1; k <= half; ++k) {
      to[k] = from[k];
      to[n_ - k] = std::conj(from[k]);
    }
    exchange_parts(to, n_);
    dft_.forward(to, from, scratch);
    for (int64_t i = 0; i < n_; ++i) reinterpret_cast<double*>(to)[i] = from[i].imag();
    return numbers_of(to);
  }
  for (int64_t k = 0; k < half; ++k) {
    const Complex a = from[k], b = std::conj(from[half - k]);
    const Complex turned = (a - b) * std::conj(twiddles_[static_cast<size_t>(k)]);
    to[k] = a + b + Complex(-turned.imag(), turned.real());
  }
  exchange_parts(to, half);
  dft_.forward(to, from, scratch);
  exchange_parts(from, half);
  return numbers_of(from);
}

}  // namespace mluop::fft
