// The accelerator that a handle represents: the architecture rules that apply, and the NRAM of a core.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace mluop {

struct DeviceProfile {
  std::string_view name;
  // The 200 series lacks some operators and bounds some indices.
  bool is_200_series;
  // NRAM of a core without the 128 KiB that its compiler reserves.
  size_t nram_kib;
};

inline constexpr DeviceProfile kDeviceProfiles[] = {
    {"mlu370", false, 768 - 128},
    {"mlu590", false, 512 - 128},
    {"mlu290", true, 512 - 128},
    {"mlu270", true, 512 - 128},
};

inline constexpr const DeviceProfile& kDefaultDevice = kDeviceProfiles[0];

constexpr std::optional<DeviceProfile> find_device(std::string_view name) {
  for (const DeviceProfile& profile : kDeviceProfiles) {
    if (profile.name == name) return profile;
  }
  return std::nullopt;
}

}  // namespace mluop
