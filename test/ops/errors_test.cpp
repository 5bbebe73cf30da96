// The rules for each argument of each operator and of its workspace query, derived from the descriptions of the
// operators: one change of a valid call breaks one rule. The folder of an operator tests its further rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "case/values.h"
#include "ops/operator_cases.h"
#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/sanitizers.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;
using cases::Dims;
using cases::Operand;
using cases::Operator;
using cases::TensorRule;
using ::testing::MatchesRegex;

constexpr mluOpDataType_t kDtypes[] = {
    MLUOP_DTYPE_HALF,   MLUOP_DTYPE_FLOAT,        MLUOP_DTYPE_INT8,          MLUOP_DTYPE_INT16,
    MLUOP_DTYPE_INT31,  MLUOP_DTYPE_INT32,        MLUOP_DTYPE_UINT8,         MLUOP_DTYPE_BOOL,
    MLUOP_DTYPE_INT64,  MLUOP_DTYPE_UINT32,       MLUOP_DTYPE_UINT64,        MLUOP_DTYPE_UINT16,
    MLUOP_DTYPE_DOUBLE, MLUOP_DTYPE_COMPLEX_HALF, MLUOP_DTYPE_COMPLEX_FLOAT, MLUOP_DTYPE_BFLOAT16};

struct Rule {
  std::string name;
  std::function<void(OperatorCall&)> change;
  std::string message;  // a regular expression
  mluOpStatus_t status = MLUOP_STATUS_BAD_PARAM;
  bool relates = false;  // the rule relates two tensors
  bool is_of_filters = false;
};

// Escapes the brackets in a regular expression.
std::string quoted(std::string text) {
  for (size_t at = 0; (at = text.find_first_of("[]", at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

class RulesOf {
 public:
  explicit RulesOf(const Case& made)
      : made_(made), op_(cases::operator_of(made.op_name, {})), bound_(bind(made, op_)) {}

  // Rules that a workspace query checks too.
  std::vector<Rule> descriptor(size_t i) {
    rules_.clear();
    const TensorRule& rule = op_.tensors[i];
    if (!rule.has_descriptor) return rules_;
    const cases::Tensor& tensor = *bound_[i].tensor;
    if (!rule.is_optional) {
      add(
          rule.id + " without descriptor", [i](OperatorCall& call) { call.arguments[i].desc = nullptr; },
          rule.id + "_desc is null");
    }
    set(i, "empty", Descriptor(), rule.id + " has (data type INVALID|0 dimensions), expected .+");
    for (const mluOpDataType_t dtype : kDtypes) {
      const bool is_supported = std::find(op_.dtypes.begin(), op_.dtypes.end(), dtype) != op_.dtypes.end();
      if (dtype == tensor.dtype || (rule.is_any_type && is_supported)) continue;
      set(i, "data type", Descriptor(dtype, tensor.dims, tensor.layout), "\\w+ has data type \\w+, expected .+",
          true);
    }
    for (int layout = 0; layout <= MLUOP_LAYOUT_NCL; ++layout) {
      set_layout(i, static_cast<mluOpTensorLayout_t>(layout));
    }
    Dims more = tensor.dims;
    more.push_back(1);
    if (!rule.has_any_rank) {
      set(i, "more dimensions", Descriptor(tensor.dtype, more, tensor.layout),
          rule.id + " has (" + std::to_string(more.size()) + " dimensions|layout \\w+), expected .+");
    } else if (std::ranges::count_if(op_.tensors, &TensorRule::has_any_rank) > 1) {
      set(i, "more dimensions", Descriptor(tensor.dtype, more, tensor.layout),
          "\\w+ has ([0-9] dimensions|shape .+), expected .+", true);
    }
    for (size_t dim = 0; dim < tensor.dims.size(); ++dim) set_dim(i, dim);
    Dims strides(tensor.dims.size(), 1);
    for (size_t dim = strides.size() - 1; dim > 0; --dim) strides[dim - 1] = strides[dim] * tensor.dims[dim];
    for (size_t dim = 0; dim < strides.size(); ++dim) {
      if (tensor.dims[dim] == 1 || op_.strides == cases::AllowedStrides::kAny) continue;
      const bool is_dense = op_.strides == cases::AllowedStrides::kDense;
      Dims changed = strides;
      changed[dim] += 1;
      set(i, "stride " + std::to_string(dim),
          Descriptor::with_strides(tensor.dtype, tensor.dims, changed, tensor.layout),
          quoted(rule.id + " has strides " + cases::text_of(changed) + ", expected a " +
                 (is_dense ? "tensor without gaps" : "contiguous tensor") + " of shape " +
                 cases::text_of(tensor.dims)),
          false, MLUOP_STATUS_NOT_SUPPORTED);
    }
    return rules_;
  }

  // Sets all tensors of the element type `dtype` to a type that the operator does not support.
  std::vector<Rule> element_types(mluOpDataType_t dtype) {
    rules_.clear();
    for (const mluOpDataType_t other : kDtypes) {
      if (std::find(op_.dtypes.begin(), op_.dtypes.end(), other) != op_.dtypes.end()) continue;
      std::vector<Change> changes;
      for (size_t i = 0; i < bound_.size(); ++i) {
        const cases::Tensor& tensor = *bound_[i].tensor;
        if (tensor.dtype != dtype || !op_.tensors[i].has_descriptor) continue;
        changes.push_back(set_desc(op_.tensors[i].id, Descriptor(other, tensor.dims, tensor.layout)));
      }
      add("element type", all_of(changes), "\\w+ has data type \\w+, expected .+");
    }
    return rules_;
  }

  std::vector<Rule> data(mluOpHandle_t handle) {
    rules_.clear();
    for (size_t i = 0; i < bound_.size(); ++i) {
      const std::string& id = op_.tensors[i].id;
      add(
          id + " without data", [i](OperatorCall& call) { call.arguments[i].data = nullptr; },
          quoted(id + " is null, expected the data of a tensor " + cases::text_of(bound_[i].tensor->dims)));
      for (size_t j = 0; op_.tensors[i].is_written() && j < bound_.size(); ++j) {
        const std::string& other = op_.tensors[j].id;
        if (j == i || may_be_same(i, j)) continue;
        add(
            id + " in place of " + other,
            [i, j](OperatorCall& call) { call.arguments[i].data = call.arguments[j].data; },
            "(" + id + " overlaps \\w+|\\w+ overlaps " + id + "), expected disjoint memory");
      }
    }
    add_workspace(handle);
    return rules_;
  }

 private:
  void add(const std::string& name, std::function<void(OperatorCall&)> change, const std::string& message,
           mluOpStatus_t status = MLUOP_STATUS_BAD_PARAM) {
    rules_.push_back({name, std::move(change), message, status});
  }

  void set(size_t i, const std::string& name, Descriptor desc, const std::string& message, bool relates = false,
           mluOpStatus_t status = MLUOP_STATUS_BAD_PARAM) {
    const std::string& id = op_.tensors[i].id;
    add(id + ": " + name, set_desc(id, std::move(desc)), message, status);
    rules_.back().relates = relates;
    rules_.back().is_of_filters = op_.tensors[i].is_filters;
  }

  // Whether output i may be the same tensor as input j.
  bool may_be_same(size_t i, size_t j) const {
    const cases::Tensor &output = *bound_[i].tensor, &input = *bound_[j].tensor;
    return op_.in_place && !op_.tensors[j].is_written() && output.dims == input.dims &&
           cases::element_size(output.dtype) == cases::element_size(input.dtype);
  }

  void set_layout(size_t i, mluOpTensorLayout_t layout) {
    const TensorRule& rule = op_.tensors[i];
    const cases::Tensor& tensor = *bound_[i].tensor;
    const auto& others = rule.other_layouts;
    if (layout == tensor.layout || std::find(others.begin(), others.end(), layout) != others.end()) return;
    set(i, "layout", Descriptor(tensor.dtype, tensor.dims, layout),
        rule.id + " has (layout \\w+|. dimensions), expected .+");
  }

  void set_dim(size_t i, size_t dim) {
    const auto& free = op_.tensors[i].free_dims;
    if (std::find(free.begin(), free.end(), dim) != free.end()) return;
    const cases::Tensor& tensor = *bound_[i].tensor;
    for (const int64_t extent : {int64_t{0}, tensor.dims[dim] - 1, tensor.dims[dim] + 1}) {
      Dims dims = tensor.dims;
      // An optional tensor may be empty.
      if (dims[dim] == extent || (extent == 0 && op_.tensors[i].is_optional)) continue;
      dims[dim] = extent;
      set(i, "dim " + std::to_string(dim) + " is " + std::to_string(extent),
          Descriptor(tensor.dtype, dims, tensor.layout), "\\w+ (dim .+ is|has shape|is) .+, expected .+", true);
    }
  }

  // Only the device algorithm of some operators needs a workspace.
  void add_workspace(mluOpHandle_t handle) {
    if (OperatorCall(handle, made_).arguments.workspace_size == 0) return;
    add(
        "no workspace", [](OperatorCall& call) { call.arguments.workspace = nullptr; }, "workspace is null.*");
    add(
        "small workspace", [](OperatorCall& call) { --call.arguments.workspace_size; },
        "workspace_size is [0-9]+, expected at least [0-9]+.*");
    for (size_t i = 0; i < bound_.size(); ++i) {
      add(
          "workspace in place of " + op_.tensors[i].id,
          [i](OperatorCall& call) { call.arguments.workspace = call.arguments[i].data; },
          "(workspace overlaps \\w+|\\w+ overlaps workspace), expected disjoint memory");
    }
  }

  const Case& made_;
  const Operator& op_;
  std::vector<cases::BoundTensor> bound_;
  std::vector<Rule> rules_;
};

void expect_failure(const std::function<mluOpStatus_t()>& call, const std::string& function, const Rule& rule) {
  mluOpSetQueue(nullptr, nullptr);  // replaces the last error
  const mluOpStatus_t status = call();
  // Filters of other dimensions and layouts are valid, but not supported.
  const bool is_refused = status == rule.status || (rule.is_of_filters && status == MLUOP_STATUS_NOT_SUPPORTED);
  EXPECT_TRUE(is_refused) << mluOpGetErrorString(status);
  EXPECT_THAT(mluOpOmpGetLastError(), MatchesRegex("\\[" + function + "\\] " + rule.message));
}

void expect_rule(mluOpHandle_t handle, const Case& made, const Rule& rule, bool of_query) {
  SCOPED_TRACE(rule.name);
  OperatorCall call(handle, made);
  rule.change(call);
  const auto before = call.contents();
  expect_failure([&] { return call.run(); }, call.op().function, rule);
  if (of_query) expect_failure([&] { return call.query(); }, call.op().query_function, rule);
  EXPECT_TRUE(call.contents() == before) << "the failing call changed inputs or outputs";
  EXPECT_TRUE(call.guards_intact());
}

// Whether the workspace query checks the descriptor of a tensor.
bool query_checks(mluOpHandle_t handle, const Case& made, size_t i) {
  OperatorCall call(handle, made);
  if (call.op().query == nullptr) return false;
  const Descriptor empty;
  call.arguments[i].desc = empty;
  return call.query() != MLUOP_STATUS_SUCCESS;
}

TEST(OpsErrors, EachArgument) {
  MLUOP_LABELS(kOnce);
  if (kSanitizer) GTEST_SKIP() << "no call that is refused reads or writes tensors; fuzzers break the rules too";
  size_t turn = 0;
  for (const Operator& op : cases::operators()) {
    if (op.has_plan) continue;
    for (const mluOpDataType_t dtype : dtypes_in_turns(op, turn++)) {
      const Case made = op.make(default_recipe(op, dtype));
      RulesOf rules(made);
      for (const auto algorithm : algorithms_of(op)) {
        SCOPED_TRACE(op.name + ' ' + text_of(algorithm));
        const Handle handle(algorithm);
        ASSERT_EQ(OperatorCall(handle, made).run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
        std::vector<bool> of_query;
        for (size_t i = 0; i < op.tensors.size(); ++i) of_query.push_back(query_checks(handle, made, i));
        const bool query_takes_all =
            std::all_of(of_query.begin(), of_query.end(), [](bool checks) { return checks; });
        for (size_t i = 0; i < op.tensors.size(); ++i) {
          for (const Rule& rule : rules.descriptor(i)) {
            const bool is_of_query = of_query[i] && (query_takes_all || !rule.relates);
            expect_rule(handle, made, rule, is_of_query);
          }
        }
        for (const Rule& rule : rules.element_types(dtype)) expect_rule(handle, made, rule, query_takes_all);
        for (const Rule& rule : rules.data(handle)) expect_rule(handle, made, rule, false);
        const Rule handle_rule{"no handle", [](OperatorCall& call) { call.arguments.handle = nullptr; },
                               "handle is null"};
        expect_rule(handle, made, handle_rule, op.query != nullptr);
        if (op.query == nullptr) continue;
        const OperatorCall call(handle, made);
        const Rule size_rule{"no size", {}, "(workspace_)?size is null"};
        expect_failure([&] { return op.query(call.arguments, nullptr); }, op.query_function, size_rule);
      }
    }
  }
}

// The first of several violations is reported: null pointers, then the device, then the other rules.
TEST(OpsErrors, OrderOfRules) {
  const Change wrong_types = [](OperatorCall& call) {
    for (size_t i = 0; i < call.op().tensors.size(); ++i) {
      if (!call.op().tensors[i].has_descriptor) continue;
      const Operand& operand = call.arguments[i];
      set_desc(call.op().tensors[i].id, Descriptor(MLUOP_DTYPE_DOUBLE, operand.dims, operand.layout))(call);
    }
  };
  const Handle any_device;
  const ScopedEnvironment environment("MLUOP_OMP_DEVICE", "mlu290");
  const Handle handle;
  for (const Operator& op : cases::operators()) {
    if (op.has_plan) continue;
    SCOPED_TRACE(op.name);
    const Case made = op.make(default_recipe(op, op.dtypes.front()));
    for (size_t i = 0; i < op.tensors.size(); ++i) {
      const TensorRule& rule = op.tensors[i];
      if (!rule.has_descriptor || rule.is_optional) continue;
      const Change no_desc = [i](OperatorCall& call) { call.arguments[i].desc = nullptr; };
      expect_rule(handle, made, {rule.id, all_of({wrong_types, no_desc}), rule.id + "_desc is null"},
                  query_checks(any_device, made, i));
      const Change no_data = [i](OperatorCall& call) { call.arguments[i].data = nullptr; };
      expect_rule(handle, made, {rule.id, all_of({wrong_types, no_data}), rule.id + " is null, expected .+"},
                  false);
    }
    if (!op.refuses_200_series) continue;
    expect_rule(handle, made,
                {"device", wrong_types, "device is mlu290, expected mlu370 or mlu590", MLUOP_STATUS_ARCH_MISMATCH},
                op.query != nullptr);
  }
}

TEST(OpsErrors, Devices) {
  for (const std::string device : {"mlu270", "mlu290", "mlu370", "mlu590"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device.c_str());
    for (const Operator& op : cases::operators()) {
      SCOPED_TRACE(op.name + ' ' + device);
      const Case made = op.make(default_recipe(op, op.dtypes.front()));
      if (op.refuses_200_series && device.starts_with("mlu2")) {
        expect_errors(
            made, {{no_change, "device is " + device + ", expected mlu370 or mlu590", MLUOP_STATUS_ARCH_MISMATCH}},
            {.query = op.query == nullptr ? Query::kNotCalled : Query::kFails});
      } else {
        expect_oracle(made);
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test
