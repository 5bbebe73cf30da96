// The settings of a call, decoded from the bytes of a fuzzer: algorithm, tasks, threads, NRAM and device. The
// build determines the instruction set.
#pragma once

#include <omp.h>

#include <cstdlib>
#include <iterator>
#include <string>

#include "fuzz/check.h"
#include "fuzz/decoder.h"

namespace mluop::fuzz {

struct Settings {
  bool is_native() const { return algorithm == MLUOP_OMP_ALGORITHM_NATIVE; }
  bool is_200_series() const { return device == "mlu270" || device == "mlu290"; }
  // Whether the smallest tile of an operator may not fit.
  bool has_small_nram() const { return nram_kib < 64; }

  void decode_team(Decoder& decoder) {
    tasks = static_cast<int>(decoder.number(1, kMaxTasks));
    // Mostly one thread, which runs the tasks in turn: a team of several costs more than most calls.
    constexpr int kMaxThreads[] = {1, 1, 1, 1, 1, 1, 2, 0};
    const size_t choice = decoder.index(std::size(kMaxThreads));
    max_threads = kMaxThreads[choice];
    statistics = choice % 4 == 2;
    constexpr int kNramKib[] = {640, 384, 64, 16, 8, 4, 2, 1};
    nram_kib = decoder.pick(kNramKib);
  }

  static constexpr int kMaxTasks = 4;
  mluOpOmpAlgorithm_t algorithm;
  int tasks;        // OMP_NUM_THREADS
  int max_threads;  // 0: MLUOP_OMP_MAX_THREADS is not set
  int nram_kib;
  std::string device;
  bool statistics;  // enabled
};

inline Settings decode_settings(Decoder& decoder) {
  constexpr const char* kDevices[] = {"mlu370", "mlu590", "mlu270", "mlu290"};
  Settings settings{};
  settings.algorithm = decoder.flag() ? MLUOP_OMP_ALGORITHM_DEVICE : MLUOP_OMP_ALGORITHM_NATIVE;
  settings.device = decoder.one_in(8) ? decoder.pick(kDevices) : kDevices[0];
  settings.decode_team(decoder);
  return settings;
}

// The same algorithm and device with another number of tasks.
inline Settings decode_other_team(Decoder& decoder, const Settings& settings) {
  Settings other = settings;
  other.decode_team(decoder);
  if (other.tasks == settings.tasks) other.tasks = settings.tasks % Settings::kMaxTasks + 1;
  return other;
}

// A handle with settings. It sets the environment and the number of OpenMP threads.
class SettingsHandle {
 public:
  explicit SettingsHandle(const Settings& settings) {
    const auto set = [](const char* name, const std::string& value) { setenv(name, value.c_str(), 1); };
    omp_set_num_threads(settings.tasks);
    set("MLUOP_OMP_MAX_THREADS", settings.max_threads == 0 ? "" : std::to_string(settings.max_threads));
    set("MLUOP_OMP_NRAM_KB", std::to_string(settings.nram_kib));
    set("MLUOP_OMP_DEVICE", settings.device);
    set("MLUOP_OMP_ALGORITHM", settings.is_native() ? "native" : "device");
    check_success(mluOpCreate(&handle_), "mluOpCreate");
    check_success(mluOpOmpSetStatistics(handle_, settings.statistics ? 1 : 0), "mluOpOmpSetStatistics");
  }
  SettingsHandle(const SettingsHandle&) = delete;
  SettingsHandle& operator=(const SettingsHandle&) = delete;
  ~SettingsHandle() { mluOpDestroy(handle_); }

  mluOpHandle_t get() const { return handle_; }

 private:
  mluOpHandle_t handle_ = nullptr;
};

}  // namespace mluop::fuzz
