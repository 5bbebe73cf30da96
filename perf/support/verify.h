// Comparisons of results with the oracle's, and checksums. A NaN never passes by accident.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mluop::perf {

// Each is empty if the data hold, else says what is wrong with them. Both spans have the same size.

// The same bits everywhere.
std::string differing_bits(std::string_view name, std::span<const float> evaluated,
                           std::span<const float> baseline);
std::string differing_bits(std::string_view name, std::span<const int32_t> evaluated,
                           std::span<const int32_t> baseline);
std::string differing_bits(std::string_view name, std::span<const uint32_t> evaluated,
                           std::span<const uint32_t> baseline);
std::string differing_bits(std::string_view name, std::span<const uint16_t> evaluated,
                           std::span<const uint16_t> baseline);

// diff1 (mean relative error) and diff2 (root relative error) of at most `tolerance`. A NaN on either side fails:
// the inputs of the suite lead to none.
std::string too_different(std::string_view name, std::span<const float> evaluated, std::span<const float> baseline,
                          double tolerance);

// FNV-1a over the bytes, going on from `hash`.
inline constexpr uint64_t kEmptyChecksum = 0xCBF29CE484222325U;
uint64_t checksum_bytes(std::span<const std::byte> bytes, uint64_t hash = kEmptyChecksum);

// 16 hexadecimal digits.
std::string checksum_text(uint64_t checksum);

}  // namespace mluop::perf
