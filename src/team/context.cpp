#include "team/context.h"

#include <charconv>
#include <string>

#include "core/boundary.h"
#include "core/environment.h"
#include "core/log.h"
#include "core/simd.h"
#include "core/text.h"

namespace mluop {
namespace {

constexpr size_t kMaxNramKib = size_t{1} << 20;

DeviceProfile read_device() {
  const std::string name = read_environment("MLUOP_OMP_DEVICE", kDefaultDevice.name.data());
  const auto device = find_device(name);
  if (!device) {
    throw Failure(MLUOP_STATUS_BAD_PARAM,
                  text("MLUOP_OMP_DEVICE is \"", name, "\", expected one of: mlu270, mlu290, mlu370, mlu590"));
  }
  return *device;
}

size_t read_nram_kib(size_t fallback) {
  const std::string value = read_environment("MLUOP_OMP_NRAM_KB", "");
  if (value.empty()) return fallback;
  size_t kib = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), kib);
  if (error != std::errc{} || end != value.data() + value.size() || kib < 1 || kib > kMaxNramKib) {
    throw Failure(MLUOP_STATUS_BAD_PARAM,
                  text("MLUOP_OMP_NRAM_KB is \"", value, "\", expected a whole number from 1 to ", kMaxNramKib));
  }
  return kib;
}

}  // namespace
}  // namespace mluop

void mluOpContext::configure() {
  const mluop::DeviceProfile new_device = mluop::read_device();
  const size_t new_nram = mluop::read_nram_kib(new_device.nram_kib) * 1024;
  mluop::configure_simd();
  mluop::configure_log();
  device = new_device;
  nram_capacity = new_nram;
  if (mluop::debug_log_enabled()) {
    mluop::log_debug(
        mluop::text("device ", device.name, ", NRAM ", nram_capacity / 1024, " KiB, ", mluop::simd_name()));
  }
}
