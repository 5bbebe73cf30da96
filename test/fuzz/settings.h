// The settings of a call: algorithm, tasks, threads, NRAM and device, decoded from the bytes of a fuzzer. The
// instruction set is that of the build.
#pragma once

#include "fuzz/decoder.h"
#include "mlu_op_omp.h"

namespace mluop::fuzz {

struct Settings {
  mluOpOmpAlgorithm_t algorithm;
  int tasks;        // OMP_NUM_THREADS
  int max_threads;  // 0: MLUOP_OMP_MAX_THREADS is not set
  int nram_kib;
  const char* device;
  bool statistics;  // enabled

  bool is_native() const { return algorithm == MLUOP_OMP_ALGORITHM_NATIVE; }
  bool is_200_series() const;
  // Whether the smallest tile of an operator may not fit.
  bool has_small_nram() const { return nram_kib < 64; }
};

Settings decode_settings(Decoder& decoder);
// The same algorithm and device with another number of tasks.
Settings decode_other_team(Decoder& decoder, const Settings& settings);

// A handle with settings. It sets the environment and the number of OpenMP threads.
class SettingsHandle {
 public:
  explicit SettingsHandle(const Settings& settings);
  SettingsHandle(const SettingsHandle&) = delete;
  SettingsHandle& operator=(const SettingsHandle&) = delete;
  ~SettingsHandle() { mluOpDestroy(handle_); }

  mluOpHandle_t get() const { return handle_; }

 private:
  mluOpHandle_t handle_ = nullptr;
};

}  // namespace mluop::fuzz
