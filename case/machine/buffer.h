// Memory of cases and bounds, aligned to cache lines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "case/machine/parallel.h"
#include "reference/element.h"

namespace mluop::machine {

inline constexpr int64_t kLineBytes = 64, kLineWords = kLineBytes / int64_t{sizeof(uint64_t)};

// [count] elements, initialized to zero. Each thread of the team first touches its share.
template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t count) : count_(count) {
    const int64_t bytes = (count * static_cast<int64_t>(sizeof(T)) + kLineBytes - 1) / kLineBytes * kLineBytes;
    memory_.reset(static_cast<T*>(std::aligned_alloc(kLineBytes, static_cast<size_t>(bytes))));
    if (memory_ == nullptr && bytes > 0) throw std::bad_alloc();
    parallel_for(count, [this](int64_t i) { std::memset(static_cast<void*>(data() + i), 0, sizeof(T)); });
  }

  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  std::span<const T> values() const { return {memory_.get(), static_cast<size_t>(count_)}; }

 private:
  struct Release {
    void operator()(T* memory) const { std::free(memory); }
  };
  int64_t count_;
  std::unique_ptr<T[], Release> memory_;
};

// Uniform in [-1, 1). The values depend only on the seed, not on the number of threads.
inline void fill_uniform(std::span<float> values, uint64_t seed) {
  parallel_for(static_cast<int64_t>(values.size()), [=](int64_t i) {
    // SplitMix64 of seed and position.
    uint64_t bits = (seed << 40) + static_cast<uint64_t>(i + 1) * 0x9E3779B97F4A7C15U;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
    values[static_cast<size_t>(i)] = static_cast<float>(bits >> 40) * 0x1p-23F - 1.0F;
  });
}

// The same values, rounded to T, a 16-bit type.
template <class T>
void fill_uniform(std::span<T> values, uint64_t seed) {
  Buffer<float> floats(static_cast<int64_t>(values.size()));
  fill_uniform(std::span(floats.data(), values.size()), seed);
  for (size_t i = 0; i < values.size(); ++i) reference::put(double{floats.data()[i]}, &values[i]);
}

template <class T>
void fill_uniform(Buffer<T>& buffer, uint64_t seed) {
  fill_uniform(std::span(buffer.data(), buffer.values().size()), seed);
}

}  // namespace mluop::machine
