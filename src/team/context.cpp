#include "team/context.h"

#include <omp.h>

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
constexpr size_t kMaxThreads = 4096;

DeviceProfile read_device() {
  const std::string name = read_environment("MLUOP_OMP_DEVICE", kDefaultDevice.name.data());
  const auto device = find_device(name);
  if (!device) {
    throw Failure(MLUOP_STATUS_BAD_PARAM,
                  text("MLUOP_OMP_DEVICE is \"", name, "\", expected one of: mlu270, mlu290, mlu370, mlu590"));
  }
  return *device;
}

// A whole number from 1 to `most`.
size_t read_count(const char* name, size_t most, size_t fallback) {
  const std::string value = read_environment(name, "");
  if (value.empty()) return fallback;
  size_t count = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
  if (error != std::errc{} || end != value.data() + value.size() || count < 1 || count > most) {
    throw Failure(MLUOP_STATUS_BAD_PARAM,
                  text(name, " is \"", value, "\", expected a whole number from 1 to ", most));
  }
  return count;
}

}  // namespace
}  // namespace mluop

void mluOpContext::configure() {
  const mluop::DeviceProfile new_device = mluop::read_device();
  const size_t new_nram = mluop::read_count("MLUOP_OMP_NRAM_KB", mluop::kMaxNramKib, new_device.nram_kib) * 1024;
  const size_t new_threads =
      mluop::read_count("MLUOP_OMP_MAX_THREADS", mluop::kMaxThreads, static_cast<size_t>(omp_get_num_procs()));
  mluop::configure_simd();
  mluop::configure_log();
  device = new_device;
  nram_capacity = new_nram;
  max_threads = static_cast<int>(new_threads);
  if (mluop::debug_log_enabled()) {
    mluop::log_debug(mluop::text("device ", device.name, ", NRAM ", nram_capacity / 1024, " KiB, at most ",
                                 max_threads, " threads, ", mluop::simd_name()));
  }
}
