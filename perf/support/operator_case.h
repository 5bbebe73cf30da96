// A measured case of an operator of case/operators: tensors, call, workspace, oracle, criteria and work are
// those of its description. What the operator is measured on, and its bounds and other baselines, are those of
// perf/ops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "case/api.h"
#include "case/operators.h"
#include "case/values.h"
#include "perf/support/buffer.h"
#include "perf/support/case.h"

namespace mluop::perf {

// The name of a tensor of the description, and its shape in the case.
struct TensorShape {
  std::string id;
  mluOpDataType_t dtype;
  cases::Dims dims;
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY;
};

class OperatorCase : public Case {
 public:
  // All tensors in the order of the description, which are zero at first. Allocates the workspace.
  OperatorCase(const std::string& op, mluOpOmpAlgorithm_t algorithm, cases::Parameters parameters,
               const std::vector<TensorShape>& tensors);

  // The contents of a tensor.
  std::span<std::byte> bytes(std::string_view id);
  template <class T>
  std::span<T> values(std::string_view id) {
    const std::span<std::byte> all = bytes(id);
    return {reinterpret_cast<T*>(all.data()), all.size() / sizeof(T)};
  }
  // Set the contents of an input: uniform in [-1, 1) as float or half; random bits, of operators that copy
  // elements; the given values.
  void fill_uniform(std::string_view id, uint64_t seed);
  void fill_bits(std::string_view id, std::mt19937& random);
  template <class T>
  void set(std::string_view id, const std::vector<T>& from) {
    std::copy(from.begin(), from.end(), values<T>(id).begin());
  }

  // The input of the stream bound, if it is not the one with the most bytes.
  void set_largest_input(std::string_view id) { largest_input_ = bytes(id); }
  // What the checksum is computed over, if not all outputs.
  void set_checksummed(std::vector<std::span<const std::byte>> parts) { checksummed_ = std::move(parts); }
  void measure_memory() { measures_memory_ = true; }
  // Parameters as write_inputs() writes them.
  void set_parameter_writer(std::function<void(const NpyFolder&)> write) { write_parameters_ = std::move(write); }
  // The algorithmic bound of the native algorithm: a function that prepares it.
  void set_bound(std::function<std::function<void()>()> prepare) { bound_ = std::move(prepare); }

  // The arguments of the oracle: the inputs of the case, outputs of its own.
  cases::Arguments& expected();

  // Work that depends on outputs is that of the last call.
  Work work() const override;
  std::span<const std::byte> largest_input() const override { return largest_input_; }
  void write_inputs(const NpyFolder& folder) const override;
  void run() override;
  // The oracle.
  std::vector<Baseline> baselines() override;
  std::function<void()> algorithmic_bound() override;
  std::optional<Footprint> footprint() const override;
  std::string verify() override;
  uint64_t checksum() const override;

 protected:
  const cases::Arguments& arguments() const { return arguments_; }
  // The expected values of tensor i, unrounded if the oracle computes sums in double.
  std::vector<float> expected_values(size_t i);

  // Computes expected(). By default the oracle of the description: that of the bits if there is one.
  virtual void expect();
  // The error to accept where the criterion of the description is `threshold`.
  virtual double tolerance(double threshold) const { return threshold; }
  // Compares the results of other baselines with expected().
  virtual std::string verify_baselines() { return {}; }

 private:
  size_t index_of(std::string_view id) const;
  void fill_outputs(cases::Arguments& arguments) const;
  std::string difference(size_t i);

  const cases::Operator& op_;
  mluOpOmpAlgorithm_t algorithm_;
  cases::Parameters parameters_;
  std::vector<cases::Descriptor> descriptors_;
  std::vector<Buffer<std::byte>> buffers_, expected_buffers_;
  std::optional<Buffer<std::byte>> workspace_;
  cases::Arguments arguments_;
  std::optional<cases::Arguments> expected_;
  std::span<const std::byte> largest_input_;
  std::vector<std::span<const std::byte>> checksummed_;
  bool measures_memory_ = false;
  std::function<void(const NpyFolder&)> write_parameters_;
  std::function<std::function<void()>()> bound_;
};

// Data type and algorithm of a case.
struct Variant {
  mluOpDataType_t dtype;
  mluOpOmpAlgorithm_t algorithm = MLUOP_OMP_ALGORITHM_NATIVE;
};
inline constexpr Variant kNativeFloat[] = {{MLUOP_DTYPE_FLOAT}};
inline constexpr Variant kNativeInt32[] = {{MLUOP_DTYPE_INT32}};
inline constexpr Variant kDeviceFloat[] = {{MLUOP_DTYPE_FLOAT, MLUOP_OMP_ALGORITHM_DEVICE}};
inline constexpr Variant kNative[] = {{MLUOP_DTYPE_FLOAT}, {MLUOP_DTYPE_HALF}};
inline constexpr Variant kNativeAndDeviceFloat[] = {kNativeFloat[0], kDeviceFloat[0]};
inline constexpr Variant kNativeAndDevice[] = {
    kNative[0], kNative[1], kDeviceFloat[0], {MLUOP_DTYPE_HALF, MLUOP_OMP_ALGORITHM_DEVICE}};

// Each row of a table, which has a `name`, in each variant. make(row, variant, size) prepares the case.
template <class Rows, class Make>
void append_cases(std::vector<CaseSpec>& specs, const std::string& op, std::span<const Variant> variants,
                  const Rows& rows, const Make& make) {
  for (const Variant& variant : variants) {
    for (const auto& row : rows) {
      specs.push_back(
          {op, row.name, std::string(cases::dtype_name(variant.dtype)),
           variant.algorithm == MLUOP_OMP_ALGORITHM_NATIVE ? "native" : "device",
           [row, variant, make](double size) -> std::unique_ptr<Case> { return make(row, variant, size); }});
    }
  }
}

}  // namespace mluop::perf
