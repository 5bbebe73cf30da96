#include "team/context.h"

#include <omp.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <string>
#include <utility>

#include "core/checks.h"
#include "core/environment.h"
#include "core/log.h"
#include "core/simd.h"

namespace mluop {
namespace {

constexpr size_t kMaxNramKib = size_t{1} << 20;
constexpr size_t kMaxThreads = 4096;

DeviceProfile read_device() {
  const std::string name = read_environment("MLUOP_OMP_DEVICE", kDefaultDevice.name.data());
  const auto device = find_device(name);
  require(device.has_value(), MLUOP_STATUS_BAD_PARAM, "MLUOP_OMP_DEVICE is \"", name,
          "\", expected one of: mlu270, mlu290, mlu370, mlu590");
  return *device;
}

mluOpOmpAlgorithm_t read_algorithm() {
  const std::string name = read_environment("MLUOP_OMP_ALGORITHM", "native");
  require(name == "native" || name == "device", MLUOP_STATUS_BAD_PARAM, "MLUOP_OMP_ALGORITHM is \"", name,
          "\", expected one of: native, device");
  return name == "device" ? MLUOP_OMP_ALGORITHM_DEVICE : MLUOP_OMP_ALGORITHM_NATIVE;
}

// A whole number from 1 to `max`.
size_t read_count(const char* name, size_t max, size_t fallback) {
  const std::string value = read_environment(name, "");
  if (value.empty()) return fallback;
  size_t count = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
  const bool whole_number = error == std::errc{} && end == value.data() + value.size();
  require(whole_number && count >= 1 && count <= max, MLUOP_STATUS_BAD_PARAM, name, " is \"", value,
          "\", expected a whole number from 1 to ", max);
  return count;
}

// OpenMP runtimes allocate the state of a team when it starts, and end the process on failure. libgomp needs less
// than 2 KiB, and 1 KiB for each thread. Memory freed here stays with the allocator.
void require_runtime_memory(size_t threads) {
  constexpr size_t kBase = 64 << 10, kPerThread = 1 << 10;
  ::operator delete(::operator new(kBase + threads * kPerThread));
}

}  // namespace
}  // namespace mluop

void mluOpContext::configure() {
  const mluop::DeviceProfile new_device = mluop::read_device();
  const size_t new_nram = mluop::read_count("MLUOP_OMP_NRAM_KB", mluop::kMaxNramKib, new_device.nram_kib) * 1024;
  const size_t new_threads =
      mluop::read_count("MLUOP_OMP_MAX_THREADS", mluop::kMaxThreads, static_cast<size_t>(omp_get_num_procs()));
  const mluOpOmpAlgorithm_t new_algorithm = mluop::read_algorithm();
  const bool new_threads_are_set = !mluop::read_environment("MLUOP_OMP_MAX_THREADS", "").empty();
  std::string new_trace_file = mluop::read_environment("MLUOP_OMP_TRACE", "");
  mluop::CaseSettings new_cases = mluop::read_case_settings();
  mluop::configure_simd();
  mluop::configure_log();
  if (mluop::debug_log_enabled()) {
    mluop::log_debug(mluop::text("device ", new_device.name, ", NRAM ", new_nram / 1024, " KiB, at most ",
                                 new_threads, " threads, ", mluop::simd_name()));
  }
  // Nothing throws from here on, so a failing call does not change the handle.
  device = new_device;
  nram_capacity = new_nram;
  max_threads = static_cast<int>(new_threads);
  max_threads_is_set = new_threads_are_set;
  algorithm = new_algorithm;
  trace_file = std::move(new_trace_file);
  cases = std::move(new_cases);
  if (!trace_file.empty()) statistics.enable(true);
}

int mluOpContext::thread_count(int task_dim) const {
  const bool limited = algorithm == MLUOP_OMP_ALGORITHM_NATIVE || max_threads_is_set;
  return limited ? std::min(task_dim, max_threads) : task_dim;
}

mluop::Arena mluOpContext::reserve(size_t pool_bytes) {
  const auto threads = static_cast<size_t>(thread_count(omp_get_max_threads()));
  nram_memory_.reserve((nram_capacity + mluop::kArenaGapBytes) * threads);
  pool_.reserve(pool_bytes + mluop::kArenaGapBytes);
  if (threads > 1) mluop::require_runtime_memory(threads);
  return {pool_.data(), pool_bytes, mluop::kArenaGapBytes};
}

void mluOpContext::release_memory() {
  nram_memory_ = {};
  pool_ = {};
  statistics.release_memory();
}

mluop::Arena mluOpContext::nram(int thread) const {
  const size_t bytes = nram_capacity + mluop::kArenaGapBytes;
  const size_t begin = bytes * static_cast<size_t>(thread);
  mluop::require(begin + bytes <= nram_memory_.capacity(), MLUOP_STATUS_INTERNAL_ERROR, "the NRAM of thread ",
                 thread, " is not reserved");
  return {nram_memory_.data() + begin, nram_capacity, mluop::kArenaGapBytes};
}

void mluOpContext::end_call() { mluop::poison(pool_.data(), pool_.capacity()); }
