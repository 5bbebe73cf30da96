// A measured case of an operator of case/operators. Its description supplies tensors, call, workspace, oracle,
// criteria and work; perf/ops supplies the inputs, the bounds and other baselines.
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
#include <variant>
#include <vector>

#include "case/api.h"
#include "case/operators.h"
#include "case/strides.h"
#include "case/values.h"
#include "perf/support/case.h"
#include "perf/support/measures.h"
#include "perf/support/npy_folder.h"

namespace mluop::perf {

// The name of a tensor of the description, and its shape in the case.
struct TensorShape {
  std::string id;
  mluOpDataType_t dtype;
  cases::Dims dims;
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY;
};

// A parameter of the description: an integer, a real number or a list.
struct NamedValue {
  std::string name;
  std::variant<int64_t, double, std::vector<int64_t>> value;
};

// Data type and algorithm of a case.
struct Variant {
  mluOpDataType_t dtype;
  mluOpOmpAlgorithm_t algorithm = MLUOP_OMP_ALGORITHM_NATIVE;
};

// Positions of points: anywhere in the cube; all in one place; in a corner, except the first of a batch; far
// apart.
enum class Points { kUniform, kEqual, kCluster, kFar };

// The values of a floating-point tensor, unrounded if an oracle computed sums in double.
std::vector<float> floats_of(const cases::Operand& operand);

// Settings of a case that are not part of the operator's description.
struct CaseOptions {
  std::span<const std::byte> largest_input;             // empty: the one with the most bytes
  std::vector<std::span<const std::byte>> checksummed;  // empty: all outputs
  bool measures_memory = false;
  std::function<std::function<void()>()> bound;   // prepares the algorithmic bound of the native algorithm
  std::function<void(cases::Arguments&)> oracle;  // default: the description's oracle, of bits if it has one
  double min_tolerance = 0;                       // applies if the criterion of the description is smaller
  std::vector<Baseline> baselines;                // default: the oracle of the description
  std::function<std::string()> verify_baselines;  // compares the results of other baselines with expected()
};

class OperatorCase : public Case {
 public:
  // All tensors in the order of the description, initialized with zero. Allocates the workspace.
  OperatorCase(const std::string& op, const Variant& variant, const std::vector<NamedValue>& parameters,
               const std::vector<TensorShape>& tensors);
  // The tensors and parameters of a generated case.
  OperatorCase(const cases::Case& generated, mluOpOmpAlgorithm_t algorithm);

  // The contents of a tensor.
  std::span<std::byte> bytes(std::string_view id);
  template <class T>
  std::span<T> values(std::string_view id) {
    const std::span<std::byte> all = bytes(id);
    return {reinterpret_cast<T*>(all.data()), all.size() / sizeof(T)};
  }
  // Set the contents of an input: uniform in [-1, 1) as float or half; points of that cube, which are float unless
  // uniform; random bits, for operators that copy elements; the given values.
  void fill_uniform(std::string_view id, uint64_t seed);
  void fill_points(std::string_view id, uint64_t seed, Points points);
  void fill_bits(std::string_view id, std::mt19937& random);
  template <class T>
  void set(std::string_view id, const std::vector<T>& from) {
    std::copy(from.begin(), from.end(), values<T>(id).begin());
  }

  // Parameters that write_inputs() writes.
  template <class T = int64_t>
  void dump(const std::string& name, const std::vector<T>& values) {
    dumps_.push_back([=](const NpyFolder& folder) { folder.write(name, values); });
  }

  // The arguments of the oracle: the inputs of the case, and separate outputs.
  cases::Arguments& expected();

  CaseOptions options;

  // Work that depends on outputs uses the last call.
  Work work() const override;
  std::span<const std::byte> largest_input() const override { return options.largest_input; }
  void write_inputs(const NpyFolder& folder) const override;
  void run() override;
  std::vector<Baseline> baselines() override { return options.baselines; }
  std::function<void()> algorithmic_bound() override;
  std::optional<Memory> memory() const override;
  std::string verify() override;
  uint64_t checksum() const override;

 private:
  void add_tensor(size_t i, const cases::Tensor& tensor);
  // Makes baseline, handle and workspace. Requires that all tensors are added.
  void finish();
  void scatter();
  void gather();
  size_t index_of(std::string_view id) const;
  void fill_outputs(cases::Arguments& arguments) const;
  std::string difference(size_t i);

  const cases::Operator& op_;
  cases::Parameters parameters_;
  std::vector<cases::Descriptor> descriptors_;
  std::vector<Buffer<std::byte>> buffers_, expected_buffers_;
  // A tensor with strides in the memory of the calls. buffers_ holds its elements in row-major order: of an input
  // as before the first call, of an output as after gather().
  struct Strided {
    size_t tensor;
    cases::StridedMemory memory;
    Buffer<std::byte> buffer;
  };
  std::vector<Strided> strided_;
  std::optional<Buffer<std::byte>> workspace_;
  // What the oracle and the library receive.
  cases::Arguments arguments_, passed_;
  std::optional<cases::Arguments> expected_;
  std::vector<std::function<void(const NpyFolder&)>> dumps_;
};

inline std::unique_ptr<OperatorCase> make_case(const std::string& op, const Variant& variant,
                                               const std::vector<NamedValue>& parameters,
                                               const std::vector<TensorShape>& tensors) {
  return std::make_unique<OperatorCase>(op, variant, parameters, tensors);
}

inline constexpr Variant kNativeFloat[] = {{MLUOP_DTYPE_FLOAT}};
inline constexpr Variant kNativeInt32[] = {{MLUOP_DTYPE_INT32}};
inline constexpr Variant kDeviceFloat[] = {{MLUOP_DTYPE_FLOAT, MLUOP_OMP_ALGORITHM_DEVICE}};
inline constexpr Variant kNative[] = {{MLUOP_DTYPE_FLOAT}, {MLUOP_DTYPE_HALF}, {MLUOP_DTYPE_BFLOAT16}};
inline constexpr Variant kNativeAndDeviceFloat[] = {kNativeFloat[0], kDeviceFloat[0]};
inline constexpr Variant kNativeAndDevice[] = {kNative[0],
                                               kNative[1],
                                               kNative[2],
                                               kDeviceFloat[0],
                                               {MLUOP_DTYPE_HALF, MLUOP_OMP_ALGORITHM_DEVICE},
                                               {MLUOP_DTYPE_BFLOAT16, MLUOP_OMP_ALGORITHM_DEVICE}};

// Each row of a table, which has a `name`, in each variant. make(row, variant, size) prepares the case.
template <class Rows, class Make>
void append_cases(std::vector<CaseSpec>& specs, const std::string& op, std::span<const Variant> variants,
                  const Rows& rows, const Make& make) {
  for (const Variant& variant : variants) {
    for (const auto& row : rows) {
      specs.push_back(
          {{op, row.name, std::string(cases::dtype_name(variant.dtype)),
            variant.algorithm == MLUOP_OMP_ALGORITHM_NATIVE ? "native" : "device"},
           [row, variant, make](double size) -> std::unique_ptr<Case> { return make(row, variant, size); }});
    }
  }
}

}  // namespace mluop::perf
