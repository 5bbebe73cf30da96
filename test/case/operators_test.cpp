// Every operator: generated cases pass, survive a round trip through text, and reduce to the smallest valid case.
#include "case/operators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "case/call.h"
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
      EXPECT_THROW(std::ranges::for_each(made.inputs, byte_count), Problem) << op.name;
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

// A case fails if it has a certain point and a certain channel: the reduction keeps both and removes the rest.
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

// The result of a case, with a wrong element of the first output.
Case with_wrong_result(const Case& made, size_t element) {
  Case c = made;
  const LoadedCase loaded(made);
  Run oracle(loaded, MLUOP_OMP_ALGORITHM_NATIVE);
  oracle.call();
  oracle.expect();
  size_t next = 0;
  for (size_t i = 0; i < loaded.bound().size(); ++i) {
    if (loaded.op().tensors[i].is_read()) continue;
    Elements& elements = c.outputs[next++].elements;
    elements.source = Elements::Source::kInline;
    elements.bytes.assign(oracle[i].data, oracle[i].data + oracle[i].bytes());
  }
  std::byte* const bits = c.outputs[0].elements.bytes.data() + 4 * element;
  if (c.outputs[0].dtype == MLUOP_DTYPE_FLOAT) {
    float value = 0;
    std::memcpy(&value, bits, sizeof value);
    value += 1;
    std::memcpy(bits, &value, sizeof value);
  } else {
    *bits ^= std::byte{1};
  }
  return c;
}

// Stated results are reduced along with their rows and channels; the inputs that they depend on remain.
TEST(CaseOperators, StatedResultsAreReducedAlongWithTheInputs) {
  struct {
    const char* op;
    size_t element;
    const char* kept;  // collections with one element in the end
    Dims result = {};  // shape of the first output
  } const rows[] = {
      {"indice_convolution_forward", 3 * 16 + 5, "output rows, output channels", {1, 1}},
      {"indice_convolution_backward_data", 7 * 8 + 2, "input channels", {}},
      {"indice_convolution_backward_filter", 9, "output channels, input channels", {1, 3, 3, 1, 1}},
      {"ball_query", 40, "centers, batches", {1, 1, 16}},
      {"stack_ball_query", 40, "centers", {1, 16}},
      {"knn", 7, "centers, batches", {}},
      {"three_nn_forward", 7, "points, batches", {1, 1, 3}},
      {"gather_points_forward", 11, "points, channels, batches", {}},
      {"points_in_boxes_all", 3, "points, boxes, batches", {1, 1, 1}},
      {"box_iou_rotated", 3, "first boxes, second boxes", {}},
      {"boxes_overlap_bev", 3, "boxes a, boxes b", {1, 1}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.op);
    const Operator& op = operator_of(row.op, {});
    const Case made = self_contained(make(op, op.dtypes.front()));
    const Case wrong = with_wrong_result(made, row.element);
    ASSERT_NE(failure_of(wrong), "");
    std::ostringstream progress;
    const Case smallest = reduce(
        wrong, [](const Case& part) { return !failure_of(part).empty(); }, progress);
    for (const Reduction& reduction : op.reductions) {
      if (std::string_view(row.kept).find(reduction.name) == std::string_view::npos) continue;
      EXPECT_EQ(reduction.count(smallest), 1) << reduction.name;
    }
    if (!row.result.empty()) {
      EXPECT_EQ(smallest.outputs[0].dims, row.result);
    }
    EXPECT_EQ(smallest.outputs[0].elements.bytes.size(), byte_count(smallest.outputs[0]));
    EXPECT_NE(failure_of(smallest), "");
    EXPECT_EQ(failure_of(self_contained(smallest)), "");
  }
}

}  // namespace
}  // namespace mluop::cases
