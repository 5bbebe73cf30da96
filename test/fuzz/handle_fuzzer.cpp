#include "fuzz/handle_fuzzer.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>

#include "fuzz/check.h"

namespace mluop::fuzz {
namespace {

constexpr auto kSuccess = MLUOP_STATUS_SUCCESS;
constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;

// An environment variable and whether a value of it is valid.
struct Variable {
  const char* name;
  bool (*is_valid)(const std::string& value);
};

// A whole number from 1 to `max`.
bool is_count(std::string value, const char* max) {
  const bool digits = std::all_of(value.begin(), value.end(), [](char c) { return '0' <= c && c <= '9'; });
  value.erase(0, std::min(value.find_first_not_of('0'), value.size()));
  const std::string limit = max;
  return digits && !value.empty() &&
         (value.size() < limit.size() || (value.size() == limit.size() && value <= limit));
}

const Variable kVariables[] = {
    {"MLUOP_OMP_DEVICE",
     [](const std::string& v) { return v == "mlu270" || v == "mlu290" || v == "mlu370" || v == "mlu590"; }},
    {"MLUOP_OMP_NRAM_KB", [](const std::string& v) { return is_count(v, "1048576"); }},
    {"MLUOP_OMP_MAX_THREADS", [](const std::string& v) { return is_count(v, "4096"); }},
    {"MLUOP_OMP_ALGORITHM", [](const std::string& v) { return v == "native" || v == "device"; }},
};

constexpr const char* kTexts[] = {"",
                                  "1",
                                  "4096",
                                  "4097",
                                  "1048576",
                                  "1048577",
                                  "0",
                                  "-1",
                                  "+1",
                                  "007",
                                  "1 ",
                                  "0x1",
                                  "18446744073709551617",
                                  "mlu270",
                                  "mlu290",
                                  "mlu370",
                                  "mlu590",
                                  "mlu37",
                                  "mlu3700",
                                  "native",
                                  "nativex",
                                  "device",
                                  "Device"};

// The environment that the next mluOpCreate or mluOpUpdateContextInformation reads.
class Environment {
 public:
  Environment() {
    for (const Variable& variable : kVariables) unsetenv(variable.name);
  }

  void change(Decoder& decoder) {
    const size_t at = decoder.index(std::size(kVariables));
    std::string text = decoder.pick(kTexts);
    if (decoder.one_in(4)) text += static_cast<char>(decoder.number(1, 127));
    setenv(kVariables[at].name, text.c_str(), 1);
    // Empty: not set.
    valid_[at] = text.empty() || kVariables[at].is_valid(text);
    if (kVariables[at].name == std::string("MLUOP_OMP_ALGORITHM")) is_device_ = text == "device";
  }
  bool is_valid() const {
    return std::all_of(std::begin(valid_), std::end(valid_), [](bool valid) { return valid; });
  }
  mluOpOmpAlgorithm_t algorithm() const {
    return is_device_ ? MLUOP_OMP_ALGORITHM_DEVICE : MLUOP_OMP_ALGORITHM_NATIVE;
  }

 private:
  bool valid_[std::size(kVariables)] = {true, true, true, true};
  bool is_device_ = false;
};

class HandleFuzzer {
 public:
  HandleFuzzer() { create(); }
  HandleFuzzer(const HandleFuzzer&) = delete;
  HandleFuzzer& operator=(const HandleFuzzer&) = delete;
  ~HandleFuzzer() { check_success(mluOpDestroy(handle_), "mluOpDestroy"); }

  void call(Decoder& decoder) {
    const bool null = decoder.one_in(16);
    const mluOpHandle_t handle = null ? nullptr : handle_;
    const auto number = static_cast<int>(decoder.flag() ? decoder.number(-1, 3) : decoder.any_number());
    switch (decoder.number(0, 7)) {
      case 0: environment_.change(decoder); break;
      case 1: replace(); break;
      case 2:
        if (expect(mluOpUpdateContextInformation(handle), !null && environment_.is_valid())) {
          algorithm_ = environment_.algorithm();
        }
        break;
      case 3:
        if (expect(mluOpSetAtomicsMode(handle, static_cast<mluOpAtomicsMode_t>(number)),
                   !null && (number == MLUOP_ATOMICS_NOT_ALLOWED || number == MLUOP_ATOMICS_ALLOWED))) {
          atomics_mode_ = number;
        }
        break;
      case 4:
        if (expect(mluOpOmpSetAlgorithm(handle, static_cast<mluOpOmpAlgorithm_t>(number)),
                   !null && (number == 0 || number == 1))) {
          algorithm_ = number;
        }
        break;
      case 5: {
        const auto queue = reinterpret_cast<cnrtQueue_t>(static_cast<intptr_t>(number));
        if (expect(mluOpSetQueue(handle, queue), !null)) queue_ = queue;
        break;
      }
      case 6: expect(mluOpOmpSetStatistics(handle, number), !null && (number == 0 || number == 1)); break;
      default: call_getters(handle, number);
    }
    check_state();
  }

 private:
  static bool expect(mluOpStatus_t status, bool valid) {
    check(status == (valid ? kSuccess : kBadParam), "a function of handles returns ", mluOpGetErrorString(status));
    return valid;
  }

  void create() {
    check_success(mluOpCreate(&handle_), "mluOpCreate");
    algorithm_ = environment_.algorithm();
    atomics_mode_ = MLUOP_ATOMICS_NOT_ALLOWED;
    queue_ = nullptr;
  }

  // A new handle, if the environment is valid.
  void replace() {
    if (environment_.is_valid()) {
      check_success(mluOpDestroy(handle_), "mluOpDestroy");
      create();
      return;
    }
    mluOpHandle_t none = nullptr;
    expect(mluOpCreate(&none), false);
    check(none == nullptr, "a failing mluOpCreate writes its output");
    expect(mluOpCreate(nullptr), false);
    expect(mluOpDestroy(nullptr), false);
  }

  // Getters without output or launch.
  void call_getters(mluOpHandle_t handle, int number) const {
    expect(mluOpGetAtomicsMode(handle, nullptr), false);
    expect(mluOpOmpGetAlgorithm(handle, nullptr), false);
    expect(mluOpGetQueue(handle, nullptr), false);
    expect(mluOpOmpGetLaunchCount(handle, nullptr), false);
    int count = -1;
    if (expect(mluOpOmpGetLaunchCount(handle, &count), handle != nullptr))
      check(count == 0, "launches without a call");
    mluOpOmpLaunchStatistics_t launch{};
    mluOpOmpTaskStatistics_t task{};
    expect(mluOpOmpGetLaunchStatistics(handle, number, &launch), false);
    expect(mluOpOmpGetTaskStatistics(handle, number, number, &task), false);
  }

  void check_state() const {
    mluOpAtomicsMode_t atomics_mode{};
    mluOpOmpAlgorithm_t algorithm{};
    cnrtQueue_t queue{};
    check_success(mluOpGetAtomicsMode(handle_, &atomics_mode), "mluOpGetAtomicsMode");
    check_success(mluOpOmpGetAlgorithm(handle_, &algorithm), "mluOpOmpGetAlgorithm");
    check_success(mluOpGetQueue(handle_, &queue), "mluOpGetQueue");
    check(atomics_mode == atomics_mode_ && algorithm == algorithm_ && queue == queue_,
          "the handle differs from the model");
  }

  Environment environment_;
  mluOpHandle_t handle_ = nullptr;
  int algorithm_ = 0, atomics_mode_ = 0;
  cnrtQueue_t queue_ = nullptr;
};

}  // namespace

void fuzz_handle(Decoder& decoder) {
  HandleFuzzer fuzzer;
  do fuzzer.call(decoder);
  while (!decoder.used_up());
}

}  // namespace mluop::fuzz
