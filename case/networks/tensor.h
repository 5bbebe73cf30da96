// Tensors as a caller of the library holds them. Their memory is kept for the next tensors of the same size, as
// the frameworks that call the library do: a network allocates the same tensors in each run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace mluop::networks {

// The freed blocks of a thread, by size.
class BlockCache {
 public:
  static BlockCache& of_thread() {
    thread_local BlockCache cache;
    return cache;
  }

  void* allocate(size_t bytes) {
    std::vector<Block>& freed = freed_[bytes];
    if (freed.empty()) return ::operator new(bytes, kAlignment);
    void* const block = freed.back().release();
    freed.pop_back();
    return block;
  }
  void free(void* block, size_t bytes) { freed_[bytes].emplace_back(block); }

  // Sets every byte of all freed blocks.
  void fill_freed(int value) {
    for (auto& [bytes, freed] : freed_) {
      for (const Block& block : freed) std::memset(block.get(), value, bytes);
    }
  }

  // Returns the memory of all freed blocks.
  void release() { freed_.clear(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Delete {
    void operator()(void* block) const { ::operator delete(block, kAlignment); }
  };
  using Block = std::unique_ptr<void, Delete>;

  std::map<size_t, std::vector<Block>> freed_;
};

// Elements without an initial value have unspecified values.
template <class T>
struct TensorAllocator {
  using value_type = T;
  TensorAllocator() = default;
  template <class U>
  TensorAllocator(const TensorAllocator<U>&) {}  // NOLINT(google-explicit-constructor)

  T* allocate(size_t count) { return static_cast<T*>(BlockCache::of_thread().allocate(count * sizeof(T))); }
  void deallocate(T* block, size_t count) { BlockCache::of_thread().free(block, count * sizeof(T)); }
  template <class U, class... Values>
  void construct(U* element, Values&&... values) {
    if constexpr (sizeof...(Values) == 0) {
      ::new (static_cast<void*>(element)) U;
    } else {
      ::new (static_cast<void*>(element)) U(std::forward<Values>(values)...);
    }
  }
  bool operator==(const TensorAllocator&) const { return true; }
};

template <class T>
using Values = std::vector<T, TensorAllocator<T>>;

// A row-major matrix.
struct Matrix {
  Matrix() = default;
  // The values are unspecified.
  Matrix(int64_t row_count, int64_t column_count)
      : rows(row_count), columns(column_count), values(static_cast<size_t>(row_count * column_count)) {}

  float* operator[](int64_t row) { return values.data() + row * columns; }
  const float* operator[](int64_t row) const { return values.data() + row * columns; }
  float* data() { return values.data(); }
  const float* data() const { return values.data(); }

  int64_t rows = 0, columns = 0;
  Values<float> values;
};

inline Matrix zeros(int64_t rows, int64_t columns) {
  Matrix matrix(rows, columns);
  std::fill(matrix.values.begin(), matrix.values.end(), 0.0F);
  return matrix;
}

// Uniform from -magnitude to magnitude.
inline Matrix random_matrix(int64_t rows, int64_t columns, float magnitude, std::mt19937& random) {
  std::uniform_real_distribution<float> distribution(-magnitude, magnitude);
  Matrix matrix(rows, columns);
  for (float& value : matrix.values) value = distribution(random);
  return matrix;
}

// The results of a network, forward and backward.
struct Result {
  std::vector<Values<int32_t>> indices;
  Matrix output;
  std::vector<std::pair<std::string, Matrix>> gradients;  // by the name of the input; empty without training
};

}  // namespace mluop::networks
