// Compares results with an oracle's results, and computes checksums.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "case/differences.h"

namespace mluop::perf {

// Requires diff1 (mean relative error) and diff2 (root relative error) of at most `tolerance`. A NaN on either
// side is a difference. Both spans must have the same size. Returns an empty string if they agree, otherwise a
// description of the difference.
inline std::string too_different(std::string_view name, std::span<const float> evaluated,
                                 std::span<const float> baseline, double tolerance) {
  const auto [diff1, diff2] = cases::differences(evaluated, baseline);
  if (diff1 <= tolerance && diff2 <= tolerance) return {};
  char text[128];
  std::snprintf(text, sizeof(text), " has diff1 %g and diff2 %g, expected at most %g", diff1, diff2, tolerance);
  return std::string(name) + text;
}

// FNV-1a over the bytes, continued from `hash`.
inline constexpr uint64_t kEmptyChecksum = 0xCBF29CE484222325U;
inline uint64_t checksum_bytes(std::span<const std::byte> bytes, uint64_t hash = kEmptyChecksum) {
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001B3U;
  return hash;
}

// 16 hexadecimal digits.
inline std::string checksum_text(uint64_t checksum) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(checksum));
  return digits;
}

}  // namespace mluop::perf
