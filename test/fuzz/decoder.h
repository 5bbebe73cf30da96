// Decodes the bytes of a fuzzer. When the bytes are used up, every value is the lowest of its range.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cstddef>
#include <cstdint>

namespace mluop::fuzz {

class Decoder {
 public:
  Decoder(const uint8_t* data, size_t size) : bytes_(data, size) {}

  int64_t number(int64_t low, int64_t high) { return bytes_.ConsumeIntegralInRange<int64_t>(low, high); }
  size_t index(size_t count) { return bytes_.ConsumeIntegralInRange<size_t>(0, count - 1); }
  bool flag() { return bytes_.ConsumeBool(); }
  // True for one of `count` values, false when the bytes are used up.
  bool one_in(int64_t count) { return number(1, count) == count; }
  template <class T, size_t kCount>
  T pick(const T (&values)[kCount]) {
    return bytes_.PickValueInArray(values);
  }
  // Any number, often a limit or a neighbor of a limit.
  int64_t any_number() {
    constexpr int64_t kOne = 1;
    constexpr int64_t kLimits[] = {
        0, kOne << 31, kOne << 32, kOne << 56, INT64_MAX - 1, INT64_MIN + 1, -(kOne << 31), kOne << 60};
    return flag() ? bytes_.ConsumeIntegral<int64_t>() : pick(kLimits) + number(-1, 1);
  }
  bool used_up() { return bytes_.remaining_bytes() == 0; }

 private:
  FuzzedDataProvider bytes_;
};

}  // namespace mluop::fuzz
