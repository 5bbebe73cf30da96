// The operators of case/operators as networks call them: the library or the oracles compute the results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "case/api.h"
#include "case/call.h"
#include "case/networks/tensor.h"
#include "case/operators.h"

namespace mluop::networks {

// A row-major tensor of a call; the call changes only outputs.
template <class T>
cases::Operand tensor(const T* data, const cases::Dims& dims) {
  cases::Operand operand;
  operand.dtype = std::is_same_v<T, float> ? MLUOP_DTYPE_FLOAT : MLUOP_DTYPE_INT32;
  operand.dims = dims;
  operand.data = reinterpret_cast<std::byte*>(const_cast<T*>(data));
  return operand;
}
inline cases::Operand tensor(const Matrix& matrix, const cases::Dims& dims) { return tensor(matrix.data(), dims); }
inline cases::Operand tensor(const Matrix& matrix) { return tensor(matrix, {matrix.rows, matrix.columns}); }

inline cases::Parameters parameters(std::initializer_list<std::pair<const char*, int64_t>> numbers) {
  cases::Parameters result;
  for (const auto& [name, number] : numbers) result.set(name, number);
  return result;
}

class Operators {
 public:
  virtual ~Operators() = default;

  // Throws if the call fails.
  void call(const std::string& op, std::vector<cases::Operand> tensors,
            const cases::Parameters& parameters = {}) const {
    cases::Arguments arguments;
    arguments.parameters = &parameters;
    arguments.tensors = std::move(tensors);
    run(cases::operator_of(op, {}), arguments);
  }

 protected:
  virtual void run(const cases::Operator& op, cases::Arguments& arguments) const = 0;
};

class Library : public Operators {
 public:
  explicit Library(mluOpHandle_t handle) : handle_(handle) {}

 protected:
  void run(const cases::Operator& op, cases::Arguments& arguments) const override {
    arguments.handle = handle_;
    std::vector<cases::Descriptor> descriptors;
    for (cases::Operand& operand : arguments.tensors) {
      operand.desc = descriptors.emplace_back(operand.dtype, operand.dims);
    }
    if (op.query != nullptr) cases::require(op.query(arguments, &arguments.workspace_size));
    Values<char> workspace(arguments.workspace_size);
    arguments.workspace = workspace.data();
    cases::require(op.run(arguments));
  }

 private:
  mluOpHandle_t handle_;
};

class Oracles : public Operators {
 protected:
  void run(const cases::Operator& op, cases::Arguments& arguments) const override {
    op.expect(arguments);
    for (cases::Operand& operand : arguments.tensors) cases::round_sums(operand);
  }
};

}  // namespace mluop::networks
