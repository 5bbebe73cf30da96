#include "fuzz/settings.h"

#include <omp.h>

#include <cstdlib>
#include <iterator>
#include <string>

#include "fuzz/check.h"

namespace mluop::fuzz {
namespace {

constexpr int kNramKib[] = {640, 384, 64, 16, 8, 4, 2, 1};
constexpr int kMaxTasks = 4;

void decode_team(Decoder& decoder, Settings& settings) {
  settings.tasks = static_cast<int>(decoder.number(1, kMaxTasks));
  // Mostly one thread, which runs the tasks in turn: a team of several costs more than most calls.
  constexpr int kMaxThreads[] = {1, 1, 1, 1, 1, 1, 2, 0};
  const size_t choice = decoder.index(std::size(kMaxThreads));
  settings.max_threads = kMaxThreads[choice];
  settings.statistics = choice % 4 == 2;
  settings.nram_kib = decoder.pick(kNramKib);
}

void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

}  // namespace

bool Settings::is_200_series() const { return device == std::string("mlu270") || device == std::string("mlu290"); }

Settings decode_settings(Decoder& decoder) {
  constexpr const char* kDevices[] = {"mlu370", "mlu590", "mlu270", "mlu290"};
  Settings settings{};
  settings.algorithm = decoder.flag() ? MLUOP_OMP_ALGORITHM_DEVICE : MLUOP_OMP_ALGORITHM_NATIVE;
  settings.device = decoder.one_in(8) ? decoder.pick(kDevices) : kDevices[0];
  decode_team(decoder, settings);
  return settings;
}

Settings decode_other_team(Decoder& decoder, const Settings& settings) {
  Settings other = settings;
  decode_team(decoder, other);
  if (other.tasks == settings.tasks) other.tasks = settings.tasks % kMaxTasks + 1;
  return other;
}

SettingsHandle::SettingsHandle(const Settings& settings) {
  omp_set_num_threads(settings.tasks);
  set("MLUOP_OMP_MAX_THREADS", settings.max_threads == 0 ? "" : std::to_string(settings.max_threads));
  set("MLUOP_OMP_NRAM_KB", std::to_string(settings.nram_kib));
  set("MLUOP_OMP_DEVICE", settings.device);
  set("MLUOP_OMP_ALGORITHM", settings.is_native() ? "native" : "device");
  check_success(mluOpCreate(&handle_), "mluOpCreate");
  check_success(mluOpOmpSetStatistics(handle_, settings.statistics ? 1 : 0), "mluOpOmpSetStatistics");
}

}  // namespace mluop::fuzz
