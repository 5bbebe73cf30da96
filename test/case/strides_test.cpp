// Tensors with strides: where elements lie, gaps, and what shapes and reductions do to strides; tensors that cases
// of MLU-OPS state among inputs and outputs.
#include "case/strides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "case/data.h"
#include "case/description.h"
#include "case/read.h"
#include "case/runner.h"
#include "case/values.h"
#include "case/write.h"

namespace mluop::cases {
namespace {

using ::testing::HasSubstr;

Tensor int32s(Dims dims, Dims strides, const std::vector<int32_t>& values) {
  return with_strides(with_values(make_tensor("x", MLUOP_DTYPE_INT32, std::move(dims)), values),
                      std::move(strides));
}

TEST(CaseStrides, ElementsLieAsTheStridesState) {
  const Tensor tensor = int32s({2, 3}, {1, 3}, {0, 1, 2, 3, 4, 5});
  constexpr int32_t kGap = -1;  // 0xFFFFFFFF
  const StridedMemory memory(tensor);
  ASSERT_EQ(memory.bytes(), 8 * sizeof(int32_t));
  std::vector<int32_t> strided(8);
  auto* const bytes = reinterpret_cast<std::byte*>(strided.data());
  memory.scatter(tensor.elements.bytes.data(), bytes);
  EXPECT_EQ(strided, (std::vector<int32_t>{0, 3, kGap, 1, 4, kGap, 2, 5}));
  Bytes packed(tensor.elements.bytes.size());
  memory.gather(bytes, packed.data());
  EXPECT_EQ(packed, tensor.elements.bytes);
  EXPECT_TRUE(memory.has_intact_gaps(bytes));
  strided[5] = 0;
  EXPECT_FALSE(memory.has_intact_gaps(bytes));
}

TEST(CaseStrides, WhichTensorsAreStrided) {
  const auto strided = [](const Dims& dims, const Dims& strides) { return is_strided(int32s(dims, strides, {})); };
  EXPECT_FALSE(strided({2, 3}, {}));
  EXPECT_FALSE(strided({2, 3}, {3, 1}));
  EXPECT_FALSE(strided({2, 1, 3}, {3, 99, 1}));
  EXPECT_FALSE(strided({2, 0}, {7, 7}));
  EXPECT_TRUE(strided({2, 3}, {4, 1}));
  EXPECT_TRUE(strided({2, 3}, {0, 1}));
}

TEST(CaseStrides, OfGenerators) {
  const Tensor tensor = make_tensor("x", MLUOP_DTYPE_FLOAT, {2, 3, 4});
  const Dims expected[] = {{}, {1, 2, 6}, {21, 7, 1}, {27, 9, 2}, {1, 5, 15}};
  for (int64_t memory = 0; memory < 5; ++memory) EXPECT_EQ(with_memory(tensor, memory).strides, expected[memory]);
  EXPECT_EQ(strides_in_order({768, 90, 180}, {2, 1, 0}), (Dims{1, 768, 69120}));
  EXPECT_THROW(strides_in_order({INT64_MAX, 2, 2}, {0, 1, 2}), Problem);
}

// Another shape keeps the order of the dimensions and the gaps.
TEST(CaseStrides, OfOtherShapes) {
  Tensor tensor = with_memory(make_tensor("x", MLUOP_DTYPE_FLOAT, {2, 3, 4}), 4);
  set_shape(tensor, {5, 3, 2});
  EXPECT_EQ(tensor.strides, (Dims{1, 8, 24}));
  set_shape(tensor, {5, 3});
  EXPECT_EQ(tensor.strides, Dims());
  const Tensor slices = slices_of(int32s({2, 3}, {1, 2}, {0, 1, 2, 3, 4, 5}), 0, {1});
  EXPECT_EQ(slices.strides, (Dims{1, 1}));
  EXPECT_EQ(values_of<int32_t>(slices), (std::vector<int32_t>{3, 4, 5}));
}

TEST(CaseStrides, ElementsAtOnePlaceHaveOneValue) {
  const Tensor tensor = int32s({2, 3}, {0, 1}, {0, 1, 2, 3, 4, 5});
  const Bytes bytes = load(tensor, tensor.elements, "");
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(number_at(bytes.data(), tensor.dtype, i), 3 + static_cast<double>(i % 3));
}

TEST(CaseStrides, InvalidStrides) {
  for (const Dims& strides : {Dims{-1, 1}, Dims{INT64_MAX, 2}, Dims{int64_t{1} << 58, 1}}) {
    EXPECT_THROW(load(int32s({2, 3}, strides, {}), {}, ""), Problem) << text_of(strides);
  }
}

std::string outcome_text(const std::string& text) {
  const Outcome outcome = run_case(parse_case(text, Format::kText, "x.prototxt"), {}).front();
  return std::to_string(static_cast<int>(outcome.status)) + ' ' + outcome.message;
}

TEST(CaseStrides, OfCases) {
  const auto abs = [](const std::string& strides, const std::string& results) {
    return "op_name: \"abs\""
           " input { id: \"x\" shape { dims: [2, 2] " +
           strides +
           " } dtype: DTYPE_FLOAT value_f: [-1, 2, -3, 4] }"
           " output { id: \"y\" shape { dims: [2, 2] dim_stride: [3, 1] } dtype: DTYPE_FLOAT value_f: " +
           results + " }";
  };
  EXPECT_EQ(outcome_text(abs("dim_stride: [1, 2]", "[1, 2, 3, 4]")), "0 ");
  EXPECT_EQ(outcome_text(abs("dim_stride: [5, 2]", "[1, 2, 3, 4]")), "0 ");
  EXPECT_EQ(outcome_text(abs("dim_stride: [5, 2]", "[1, 3, 2, 4]")), "1 ");
  EXPECT_THAT(
      outcome_text("op_name: \"transpose\""
                   " input { id: \"input\" shape { dims: [1, 1, 2] dim_stride: [4, 4, 2] } dtype: DTYPE_FLOAT }"
                   " output { id: \"output\" shape { dims: [1, 2, 1] } dtype: DTYPE_FLOAT }"),
      HasSubstr("input has strides [4, 4, 2], expected a contiguous tensor"));
}

// Cases of MLU-OPS state a tensor that the call updates as an input and as an output.
TEST(CaseStrides, InputsThatAreOutputs) {
  const Operator& op = operator_of("dynamic_point_to_voxel_forward", {});
  Case made = op.make(default_recipe(op, MLUOP_DTYPE_FLOAT));
  const Case joined = made;
  Tensor after = made.inputs[1];
  ASSERT_EQ(after.id, "coors");
  made.outputs.push_back(after);
  Case by_position = made;
  join_inouts(made, op);
  EXPECT_EQ(made.outputs.size(), joined.outputs.size());
  ASSERT_TRUE(made.inputs[1].result.has_value());
  EXPECT_EQ(made.inputs[1].result->bytes, after.elements.bytes);

  // In the order of the operator: coors first.
  std::rotate(by_position.outputs.begin(), by_position.outputs.end() - 1, by_position.outputs.end());
  for (auto* list : {&by_position.inputs, &by_position.outputs}) {
    for (Tensor& tensor : *list) tensor.id += "_";
  }
  Case other = by_position;
  join_inouts(by_position, op);
  EXPECT_EQ(by_position.outputs.size(), joined.outputs.size());
  EXPECT_TRUE(by_position.inputs[1].result.has_value());
  other.outputs[0].dims.push_back(1);
  EXPECT_THROW(join_inouts(other, op), Problem);
}

// As before, for a tensor that the call does not read: ball_query leaves indices unchanged.
TEST(CaseStrides, KeptOutputsThatAreInputs) {
  const Operator& op = operator_of("ball_query", {});
  const Case made = op.make(default_recipe(op, MLUOP_DTYPE_FLOAT));
  for (const char* suffix : {"", "_"}) {
    Case twice = made;
    Tensor before = made.outputs[0];
    set_shape(before, made.outputs[0].dims);
    twice.inputs.push_back(with_uniform(before, 7));
    for (auto* list : {&twice.inputs, &twice.outputs}) {
      for (Tensor& tensor : *list) tensor.id += suffix;
    }
    join_inouts(twice, op);
    EXPECT_EQ(twice.inputs.size(), made.inputs.size());
    ASSERT_TRUE(twice.outputs[0].initial.has_value());
    EXPECT_EQ(twice.outputs[0].initial->random.seed, 7);
  }
}

}  // namespace
}  // namespace mluop::cases
