#include "reference/fft.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace mluop::reference {
namespace {

using Number = std::complex<long double>;

// exp(2 pi i k / n), exact at multiples of a quarter turn.
Number turn(int64_t k, int64_t n) {
  k %= n;
  if (4 * k % n == 0) {
    constexpr Number kQuarters[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    return kQuarters[4 * k / n];
  }
  const long double angle =
      2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
  return {std::cos(angle), std::sin(angle)};
}

// The transform of n numbers of `x`, every `stride`-th, by the smallest prime factor of n.
// turns: the powers of the root of unity of order n * stride.
std::vector<Number> transform(const Number* x, int64_t n, int64_t stride, const std::vector<Number>& turns) {
  if (n == 1) return {*x};
  int64_t factor = 2;
  while (n % factor != 0) ++factor;
  const int64_t length = n / factor;
  std::vector<std::vector<Number>> parts;
  for (int64_t q = 0; q < factor; ++q) parts.push_back(transform(x + q * stride, length, stride * factor, turns));
  std::vector<Number> to(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t q = 0; q < factor; ++q) {
      const Number turn = turns[static_cast<size_t>(q * k % n * stride)];
      to[static_cast<size_t>(k)] += turn * parts[static_cast<size_t>(q)][static_cast<size_t>(k % length)];
    }
  }
  return to;
}

// Transforms along the last dimension of [rows, n], to [rows, count].
std::vector<Number> transform_rows(const FftProblem& p, const std::vector<Number>& from, int64_t n, int64_t count,
                                   bool backward) {
  const int64_t rows = static_cast<int64_t>(from.size()) / n;
  std::vector<Number> turns, to;
  for (int64_t k = 0; k < n; ++k) turns.push_back(backward ? turn(k, n) : std::conj(turn(k, n)));
  for (int64_t row = 0; row < rows; ++row) {
    const Number* const x = from.data() + row * n;
    if (p.adds_magnitudes) {
      // The parts of a turn have a sum of at most 3 / 2.
      long double sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += 1.5L * (std::abs(x[j].real()) + std::abs(x[j].imag()));
      to.insert(to.end(), static_cast<size_t>(count), Number(sum, sum));
    } else {
      const std::vector<Number> all = transform(x, n, 1, turns);
      to.insert(to.end(), all.begin(), all.begin() + count);
    }
  }
  return to;
}

std::vector<Number> transposed(const std::vector<Number>& from, int64_t columns) {
  const int64_t rows = static_cast<int64_t>(from.size()) / columns;
  std::vector<Number> to;
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t row = 0; row < rows; ++row) to.push_back(from[static_cast<size_t>(row * columns + column)]);
  }
  return to;
}

}  // namespace

std::vector<std::complex<double>> fft(const FftProblem& p, const std::vector<std::complex<double>>& input) {
  using Kind = FftProblem::Kind;
  const int64_t rows = p.n[0], columns = p.n[1];
  const int64_t spectrum = columns / 2 + 1, read = p.kind == Kind::kToReal ? spectrum : columns;
  const int64_t written = p.kind == Kind::kFromReal ? spectrum : columns;
  const bool backward = p.kind == Kind::kToReal || (p.kind == Kind::kComplex && p.backward);
  const bool ignores_parts = p.kind == Kind::kToReal;
  std::vector<Number> numbers(static_cast<size_t>(rows * read));
  for (int64_t row = 0; row < std::min(rows, p.shape[0]); ++row) {
    for (int64_t column = 0; column < std::min(read, p.shape[1]); ++column) {
      numbers[static_cast<size_t>(row * read + column)] = input[static_cast<size_t>(row * p.shape[1] + column)];
    }
  }
  const auto is_ignored = [&](int64_t column) { return ignores_parts && 2 * column % columns == 0; };
  // In two dimensions, these are the parts after the transform along its columns.
  if (p.rank == 1) {
    for (int64_t column = 0; column < read; ++column) {
      if (is_ignored(column)) numbers[static_cast<size_t>(column)].imag(0);
    }
  }
  const bool is_finite = std::all_of(numbers.begin(), numbers.end(), [](const Number& each) {
    return std::isfinite(each.real()) && std::isfinite(each.imag());
  });
  if (!is_finite) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    return std::vector(static_cast<size_t>(rows * written), std::complex<double>(kNan, kNan));
  }
  numbers = transposed(transform_rows(p, transposed(numbers, read), rows, rows, backward), rows);
  if (p.kind == Kind::kToReal) {
    std::vector<Number> all;
    for (int64_t row = 0; row < rows; ++row) {
      const auto first = static_cast<size_t>(row * read);
      for (int64_t column = 0; column < columns; ++column) {
        const bool is_mirrored = column >= read;
        Number each = numbers[first + static_cast<size_t>(is_mirrored ? columns - column : column)];
        if (is_ignored(column)) each.imag(0);
        all.push_back(is_mirrored ? std::conj(each) : each);
      }
    }
    numbers = all;
  }
  std::vector<std::complex<double>> result;
  const long double scale = p.adds_magnitudes ? std::abs(p.scale) : p.scale;
  for (const Number& each : transform_rows(p, numbers, columns, written, backward)) {
    result.emplace_back(static_cast<double>(each.real() * scale), static_cast<double>(each.imag() * scale));
  }
  return result;
}

}  // namespace mluop::reference
