// Tensors as a caller of the library holds them. Their memory is kept for the next tensors of the same size, as
// the frameworks that call the library do: a network allocates the same tensors in each run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <new>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

namespace mluop::test {

// The freed blocks of a thread, by size.
class BlockCache {
 public:
  static BlockCache& of_thread() {
    thread_local BlockCache cache;
    return cache;
  }
  BlockCache() = default;
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;
  ~BlockCache() { release(); }

  void* allocate(size_t bytes) {
    std::vector<void*>& freed = freed_[bytes];
    if (freed.empty()) return ::operator new(bytes, kAlignment);
    void* const block = freed.back();
    freed.pop_back();
    return block;
  }
  void free(void* block, size_t bytes) { freed_[bytes].push_back(block); }

  // Sets every byte of all freed blocks.
  void fill_freed(int value) {
    for (auto& [bytes, freed] : freed_) {
      for (void* const block : freed) std::memset(block, value, bytes);
    }
  }

  // Returns the memory of all freed blocks.
  void release() {
    for (auto& [bytes, freed] : freed_) {
      for (void* const block : freed) ::operator delete(block, kAlignment);
    }
    freed_.clear();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  std::map<size_t, std::vector<void*>> freed_;
};

// Elements without an initial value have an unspecified one.
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

// Row-major. F is float where the library computes the operators, double where the references of a test do.
template <class F>
struct Matrix {
  Matrix() = default;
  // The values are unspecified.
  Matrix(int64_t row_count, int64_t column_count)
      : rows(row_count), columns(column_count), values(static_cast<size_t>(row_count * column_count)) {}
  template <class From>
  explicit Matrix(const Matrix<From>& from) : Matrix(from.rows, from.columns) {
    std::transform(from.values.begin(), from.values.end(), values.begin(),
                   [](From value) { return static_cast<F>(value); });
  }

  F* operator[](int64_t row) { return values.data() + row * columns; }
  const F* operator[](int64_t row) const { return values.data() + row * columns; }
  F* data() { return values.data(); }
  const F* data() const { return values.data(); }

  int64_t rows = 0, columns = 0;
  Values<F> values;
};

// A parameter of a network in the type of its operators: the matrix itself if that is float, else a copy.
template <class F>
decltype(auto) as(const Matrix<float>& matrix) {
  if constexpr (std::is_same_v<F, float>) {
    return (matrix);
  } else {
    return Matrix<F>(matrix);
  }
}

template <class F>
Matrix<F> zeros(int64_t rows, int64_t columns) {
  Matrix<F> matrix(rows, columns);
  std::fill(matrix.values.begin(), matrix.values.end(), F{0});
  return matrix;
}

// Numbers up to `magnitude`, exact in float.
inline Matrix<float> random_matrix(int64_t rows, int64_t columns, float magnitude, std::mt19937& random) {
  std::uniform_real_distribution<float> distribution(-magnitude, magnitude);
  Matrix<float> matrix(rows, columns);
  for (float& value : matrix.values) value = distribution(random);
  return matrix;
}

}  // namespace mluop::test
