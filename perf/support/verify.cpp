#include "perf/support/verify.h"

#include <cstdio>
#include <sstream>

#include "support/differences.h"

namespace mluop::perf {
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
