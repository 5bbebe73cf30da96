// Every operator: generated cases pass, survive a round trip through text, and reduce to the smallest valid case.
#include "case/operators.h"

#include <gtest/gtest.h>

#include <sstream>

#include "case/read.h"
#include "case/reduce.h"
#include "case/runner.h"
#include "case/values.h"
#include "case/write.h"

namespace mluop::cases {
namespace {

Case make(const Operator& op, mluOpDataType_t dtype) { return op.make(default_recipe(op, dtype)); }

// Empty if the case passes with both algorithms.
std::string failure_of(const Case& the_case) {
  for (const Outcome& outcome : run_case(the_case, {.algorithms = {"native", "device"}})) {
    if (outcome.status == Status::kPassed) continue;
    std::string text = outcome.op + ' ' + outcome.algorithm + ": " + outcome.message;
    for (const OutputOutcome& output : outcome.outputs) {
      if (output.errors) text += '\n' + output.name + '\n' + text_of(*output.errors, "");
    }
    return text + '\n' + text_of(the_case);
  }
  return "";
}

TEST(CaseOperators, AbsurdSizes) {
  const Operator& pairs = operator_of("get_indice_pairs", {});
  Recipe without_stride = default_recipe(pairs, pairs.dtypes.front());
  without_stride.sizes["stride"] = 0;
  EXPECT_THROW(pairs.make(without_stride), Problem);
  for (const Operator& op : operators()) {
    Recipe recipe = default_recipe(op, op.dtypes.front());
    for (auto& [name, value] : recipe.sizes) value = INT32_MAX;
    try {
      const Case made = op.make(recipe);
      EXPECT_THROW(byte_count(made.inputs[0]), Problem) << op.name;
    } catch (const Problem&) {
      continue;
    }
  }
}

TEST(CaseOperators, GeneratedCasesPassAndSurviveText) {
  for (const Operator& op : operators()) {
    for (const mluOpDataType_t dtype : op.dtypes) {
      SCOPED_TRACE(op.name + ' ' + std::string(dtype_name(dtype)));
      const Case made = make(op, dtype);
      EXPECT_EQ(failure_of(made), "");
      const std::string text = text_of(made);
      const Case parsed = parse_case(text, Format::kText, "x.prototxt");
      EXPECT_EQ(text_of(parsed), text);
      EXPECT_EQ(failure_of(parsed), "");
    }
  }
}

// Each attempt of the reduction is a valid case that passes, down to one element of each collection.
TEST(CaseOperators, EveryPartOfACaseIsValid) {
  for (const Operator& op : operators()) {
    SCOPED_TRACE(op.name);
    const Case made = self_contained(make(op, op.dtypes.front()));
    std::ostringstream progress;
    const Case smallest = reduce(
        made, [](const Case& part) { return failure_of(part).empty(); }, progress);
    EXPECT_EQ(failure_of(smallest), "");
    for (const Reduction& reduction : op.reductions) EXPECT_LE(reduction.count(smallest), 1) << reduction.name;
  }
}

// A case fails if it has a certain point and a certain channel: both remain, and nothing else.
TEST(CaseOperators, ReductionKeepsWhatFails) {
  const Operator& op = operator_of("voxel_pooling_forward", {});
  const Case made = self_contained(make(op, MLUOP_DTYPE_FLOAT));
  const Tensor& features = made.inputs[1];
  const uint64_t wanted = bits_at(features.elements.bytes.data(), features.dtype, 37 * 8 + 5);
  const auto fails = [&](const Case& part) {
    const Tensor& tensor = part.inputs[1];
    for (size_t i = 0; i < static_cast<size_t>(element_count(tensor)); ++i) {
      if (bits_at(tensor.elements.bytes.data(), tensor.dtype, i) == wanted) return true;
    }
    return false;
  };
  std::ostringstream progress;
  const Case smallest = reduce(made, fails, progress);
  EXPECT_EQ(smallest.inputs[1].dims, (Dims{1, 1, 1}));
  EXPECT_EQ(progress.str(), "points: 100 -> 1\nchannels: 8 -> 1\nbatches: 2 -> 1\n");
  EXPECT_EQ(smallest.parameters.integer("num_points"), 1);
}

}  // namespace
}  // namespace mluop::cases
