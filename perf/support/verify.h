// Comparison of results with those of an oracle, and checksums.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mluop::perf {

// Requires diff1 (mean relative error) and diff2 (root relative error) of at most `tolerance`. A NaN on either
// side is a difference. Both spans have the same size. Returns an empty string if they agree, else a description
// of the difference.
std::string too_different(std::string_view name, std::span<const float> evaluated, std::span<const float> baseline,
                          double tolerance);

// FNV-1a over the bytes, continued from `hash`.
inline constexpr uint64_t kEmptyChecksum = 0xCBF29CE484222325U;
uint64_t checksum_bytes(std::span<const std::byte> bytes, uint64_t hash = kEmptyChecksum);

// 16 hexadecimal digits.
std::string checksum_text(uint64_t checksum);

}  // namespace mluop::perf
