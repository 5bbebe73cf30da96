// The operators of cases: their tensors, calls of the C API, oracles, criteria, generators and reductions.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "case/model.h"
#include "mlu_op.h"
#include "mlu_op_omp.h"

namespace mluop::cases {

enum class Role {
  kInput,
  kOutput,      // the call writes every element
  kKeptOutput,  // the call may leave elements unchanged
  kInOut,       // an input that the call writes
};

struct TensorRule {
  std::string id;
  Role role;
  std::vector<std::string> axes;  // names of the dimensions, for reports
  // Layouts that the call accepts in addition to the layout of generated cases.
  std::vector<mluOpTensorLayout_t> other_layouts = {};
  // Dimensions that no other argument determines.
  std::vector<size_t> free_dims = {};
  // Whether layout and number of dimensions determine the meaning of the dimensions.
  bool is_filters = false;
  // Whether the call takes a descriptor; false: it knows data type and shape.
  bool has_descriptor = true;
  // Whether the tensor may be absent from a case. It then has no elements; `run` passes null or an empty tensor.
  bool is_optional = false;
  // Whether the signs of its elements select the addends: sums of magnitudes keep these signs.
  bool keeps_signs = false;
  // Whether the call takes every element type of the operator, whatever the types of other tensors are.
  bool is_any_type = false;
  // Whether the tensor may have any number of dimensions; other such tensors then have the same number.
  bool has_any_rank = false;

  bool is_read() const { return role == Role::kInput || role == Role::kInOut; }
  bool is_written() const { return role != Role::kInput; }
};

// A tensor of a call: descriptor and data of the library, or data of the oracle. For the library the data of a
// tensor with strides lie as the strides state, otherwise in row-major order.
struct Operand {
  mluOpDataType_t dtype = MLUOP_DTYPE_INVALID;
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY;
  Dims dims = {};
  mluOpTensorDescriptor_t desc = nullptr;
  std::byte* data = nullptr;
  // The oracle's result in double, rounded later, two numbers for each complex element; empty: the result is data.
  std::vector<double> sums = {};

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  int64_t dim(size_t i) const { return dims[i]; }
  bool is_16_bit() const { return dtype == MLUOP_DTYPE_HALF || dtype == MLUOP_DTYPE_BFLOAT16; }
  // Number of elements, of their numbers (two for each complex element), and of bytes.
  int64_t count() const;
  int64_t numbers() const;
  int64_t bytes() const;
};

// The arguments of a call, tensors in the order of Operator::tensors.
struct Arguments {
  mluOpHandle_t handle = nullptr;
  const Parameters* parameters = nullptr;
  std::vector<Operand> tensors;
  void* workspace = nullptr;
  size_t workspace_size = 0;
  // The tensors hold magnitudes: the oracle adds where it would subtract, which bounds its sums.
  bool are_magnitudes = false;

  Operand& operator[](size_t i) { return tensors[i]; }
  const Operand& operator[](size_t i) const { return tensors[i]; }
  int int32(std::string_view name) const { return parameters->int32(name); }
  int64_t integer(std::string_view name) const { return parameters->integer(name); }
};

// A result other than a tensor that differs from the expected result.
class Mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Compulsory bytes and floating-point operations of a call.
struct Work {
  int64_t read_bytes = 0, write_bytes = 0, ops = 0;
};

// A size of generated cases.
struct SizeRule {
  std::string name;
  int64_t value;                     // default
  int64_t lowest = 1, highest = 70;  // range of draw_recipe()
  // Whether it is an extent of a tensor or of the filter, which may be 0.
  bool is_extent = true;
};

// The settings from which a case is generated: `mluop_case new`.
struct Recipe {
  std::map<std::string, int64_t, std::less<>> sizes = {};
  mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT;
  int32_t seed = 1;
  // Maximum number of elements that the case stores; beyond it, elements are described as random numbers.
  int64_t max_inline = 4096;

  int64_t operator[](std::string_view name) const { return sizes.find(name)->second; }
};

// A way to make a case smaller: an axis, or another collection whose subsets all give valid cases. Cases must hold
// the tensors in the order of the operator, with inputs inline.
struct Reduction {
  std::string name;
  std::function<int64_t(const Case&)> count;
  // Removes all elements except `kept`, ascending, from the inputs and parameters.
  std::function<void(Case&, const std::vector<int64_t>& kept)> keep;
  // Where results that a case states contain the collection: dimensions (output, dimension; negative: from the
  // end) and outputs whose elements are positions in it.
  std::vector<std::pair<size_t, int>> result_dims = {};
  std::vector<size_t> position_outputs = {};
};

// A size of a network that the perf suite measures: sizes and values of the generator. The suite multiplies the
// operator's first size to measure other amounts of work.
struct NetworkSize {
  std::string name;
  std::map<std::string, int64_t> sizes;  // the other sizes have their defaults
};

// The strides that a call accepts.
enum class AllowedStrides {
  kContiguous,
  kDense,  // without gaps, in any order of the dimensions, equal for all tensors
  kAny,
};

struct Operator {
  std::string name;
  std::vector<std::string> aliases = {};
  // The functions of the C API that `run` and `query` call.
  std::string function, query_function = {};
  std::vector<TensorRule> tensors;
  // Names of the message with the parameters; empty: there are no parameters.
  std::vector<std::string> parameter_messages = {};
  // Writes the bytes of the workspace. null: there is no workspace.
  mluOpStatus_t (*query)(const Arguments&, size_t*) = nullptr;
  mluOpStatus_t (*run)(const Arguments&) = nullptr;
  // Computes the outputs for arguments that the library accepted. Outputs hold their initial contents.
  void (*expect)(Arguments&) = nullptr;
  // Computes the bits of the serial loop, which the native algorithm returns, if `expect` computes sums in double.
  // null: the algorithm adds in another order.
  void (*expect_bits)(Arguments&) = nullptr;
  // null: all tensors, each once.
  Work (*work)(const Arguments&) = nullptr;
  // The shape of an output in reports, if one of its dimensions combines several. null: the shape of the tensor.
  Dims (*report_shape)(const Arguments&) = nullptr;
  // Criteria of cases that state none. null: bits. Required by tests for results that are neither exact nor sums.
  std::vector<Criterion> (*criteria)(const Operand& output, mluOpOmpAlgorithm_t algorithm) = nullptr;
  // Maximum number of products that an element of the result adds, if the oracle computes sums in double.
  int64_t (*terms)(const Arguments&) = nullptr;
  // A handle for a device of the 200 series is rejected.
  bool refuses_200_series = false;
  // The device algorithm differs from the native one.
  bool has_device_algorithm = false;
  // The device algorithm adds with atomics, in any order.
  bool atomic_sums = false;
  // The outputs are copies of elements: NaN keep their payload.
  bool copies = false;
  // The elements of a result are products of two elements; products become subnormal before elements do.
  bool multiplies = false;
  // AVX512-BF16 multiplies bfloat16: subnormal elements and sums count as 0.
  bool has_dot_products = false;
  AllowedStrides strides = AllowedStrides::kContiguous;
  // An output may be the same tensor as an input.
  bool in_place = false;
  // `run` makes a plan first: another function checks the tensors, before the data, with messages of its own.
  bool has_plan = false;
  std::vector<SizeRule> sizes;
  // For each kind of kernel, sizes at which several tasks share the work.
  std::vector<std::map<std::string, int64_t>> parallel_sizes = {};
  // The first represents the operator in runs that measure one case of each. Operators whose cases need inputs,
  // bounds or baselines of their own have a file in perf/ops instead.
  std::vector<NetworkSize> networks = {};
  std::vector<mluOpDataType_t> dtypes = {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF, MLUOP_DTYPE_BFLOAT16};
  Case (*make)(const Recipe&) = nullptr;
  std::vector<Reduction> reductions = {};
  // Sets everything that follows from the inputs of a case: the shapes of outputs, and parameters.
  void (*fit)(Case&) = nullptr;
};

const std::vector<Operator>& operators();
// Throws Problem for an unknown name.
const Operator& operator_of(const std::string& name, const Place& place);

// The recipe with the default sizes.
Recipe default_recipe(const Operator& op, mluOpDataType_t dtype);
// A recipe with sizes drawn by number(low, high), mostly small ones. The largest sizes are halved until the
// tensors have at most `max_bytes`.
Recipe draw_recipe(const Operator& op, mluOpDataType_t dtype,
                   const std::function<int64_t(int64_t, int64_t)>& number, int64_t max_bytes);

// The work of a call that reads each input and writes each output once.
Work work_of_tensors(const Operator& op, const Arguments& arguments);

// A tensor of a case with its elements before and after the call.
struct BoundTensor {
  const Tensor* tensor;
  const Elements* before;  // null: unspecified
  const Elements* after;   // null: the case does not state them
};

// Cases of MLU-OPS state a tensor whose previous contents matter twice: among the inputs as before the call, among
// the outputs as after it. Makes each pair one tensor: an input with `result`, or an output with `initial`. Throws
// Problem if the two differ in type, shape or strides.
void join_inouts(Case& the_case, const Operator& op);

// The tensors in the order of the operator: by id if all ids are names of its tensors, otherwise by position.
// Throws Problem if their number differs.
std::vector<BoundTensor> bind(const Case& the_case, const Operator& op);

}  // namespace mluop::cases
