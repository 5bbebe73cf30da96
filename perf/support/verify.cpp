#include "perf/support/verify.h"

#include <cstdio>
#include <cstring>
#include <limits>
#include <sstream>

#include "support/differences.h"

namespace mluop::perf {
namespace {

template <class T>
std::string first_difference(std::string_view name, std::span<const T> evaluated, std::span<const T> baseline) {
  for (size_t i = 0; i < baseline.size(); ++i) {
    if (std::memcmp(&evaluated[i], &baseline[i], sizeof(T)) == 0) continue;
    std::ostringstream message;
    message.precision(std::numeric_limits<double>::max_digits10);
    message << name << "[" << i << "] is " << evaluated[i] << ", expected " << baseline[i];
    return message.str();
  }
  return {};
}

}  // namespace

std::string differing_bits(std::string_view name, std::span<const float> evaluated,
                           std::span<const float> baseline) {
  return first_difference(name, evaluated, baseline);
}

std::string differing_bits(std::string_view name, std::span<const int32_t> evaluated,
                           std::span<const int32_t> baseline) {
  return first_difference(name, evaluated, baseline);
}

std::string differing_bits(std::string_view name, std::span<const uint32_t> evaluated,
                           std::span<const uint32_t> baseline) {
  return first_difference(name, evaluated, baseline);
}

std::string differing_bits(std::string_view name, std::span<const uint16_t> evaluated,
                           std::span<const uint16_t> baseline) {
  return first_difference(name, evaluated, baseline);
}

std::string too_different(std::string_view name, std::span<const float> evaluated, std::span<const float> baseline,
                          double tolerance) {
  const auto [diff1, diff2] = test::differences(evaluated, baseline);
  if (diff1 <= tolerance && diff2 <= tolerance) return {};
  std::ostringstream message;
  message << name << " has diff1 " << diff1 << " and diff2 " << diff2 << ", expected at most " << tolerance;
  return message.str();
}

uint64_t checksum_bytes(std::span<const std::byte> bytes, uint64_t hash) {
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001B3U;
  return hash;
}

std::string checksum_text(uint64_t checksum) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(checksum));
  return digits;
}

}  // namespace mluop::perf
