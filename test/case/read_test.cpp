// Reading cases: representations of elements, random numbers, and messages about invalid cases.
#include "case/read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "case/data.h"
#include "case/operators.h"
#include "case/values.h"
#include "case/write.h"

namespace mluop::cases {
namespace {

using ::testing::HasSubstr;

Case parse(const std::string& text) { return parse_case(text, Format::kText, "x.prototxt"); }

// A case of masked col2im with `col` of the data type, on the second line.
std::string with_col(const std::string& dtype, const std::string& elements,
                     const std::string& shape = "dims: 1 dims: 2") {
  return "op_name: \"masked_col2im_forward\"\n"
         "input { id: \"col\" shape { " +
         shape + " } dtype: DTYPE_" + dtype + " " + elements +
         " }\n"
         "input { id: \"mask_h_idx\" shape { dims: 2 } dtype: DTYPE_INT32 value_i: 0 value_i: 1 }\n"
         "input { id: \"mask_w_idx\" shape { dims: 2 } dtype: DTYPE_INT32 value_i: 0 value_i: 0 }\n"
         "output { id: \"im\" shape { dims: 1 dims: 1 dims: 2 dims: 1 } layout: LAYOUT_NCHW dtype: DTYPE_FLOAT "
         "}\n";
}

TEST(CaseRead, Representations) {
  const struct {
    std::string dtype, elements;
    uint64_t first, second;
  } rows[] = {
      {"FLOAT", "value_f: 1 value_f: -2.5", 0x3F800000, 0xC0200000},
      {"FLOAT", "value_i: 1065353216 value_i: -1", 0x3F800000, 0xFFFFFFFF},
      {"FLOAT", "value_h: \"3f800000\" value_h: \"7\"", 0x3F800000, 7},
      {"HALF", "value_f: 1 value_f: 65520", 0x3C00, 0x7C00},
      {"HALF", "value_i: 15360 value_i: -1", 0x3C00, 0xFFFF},
      {"HALF", "value_h: \"3c00\" value_h: \"0x7E01\"", 0x3C00, 0x7E01},
      {"INT32", "value_i: -7 value_i: 9", 0xFFFFFFF9, 9},
      {"INT32", "value_f: -7 value_f: 9", 0xFFFFFFF9, 9},
      {"INT32", "value_l: -7 value_l: 9", 0xFFFFFFF9, 9},
      {"UINT32", "value_ui: 4294967295 value_ui: 9", 0xFFFFFFFF, 9},
      {"UINT64", "value_ul: 18446744073709551615 value_ul: 9", UINT64_MAX, 9},
      {"INT64", "value_l: -1 value_l: 9", UINT64_MAX, 9},
      {"INT8", "value_i: -128 value_i: 127", 0x80, 0x7F},
      {"BOOL", "value_i: 1 value_i: 0", 1, 0},
      {"DOUBLE", "value_h: \"3ff0000000000000\" value_h: \"0\"", 0x3FF0000000000000, 0},
      {"BFLOAT16", "value_f: 1 value_f: 3.015625", 0x3F80, 0x4041},
      {"COMPLEX_FLOAT", "value_f: [1, -2.5, 0, 0]", 0x3F800000, 0xC0200000},
      {"COMPLEX_FLOAT", "value_i: [1065353216, -1, 0, 0]", 0x3F800000, 0xFFFFFFFF},
      {"COMPLEX_FLOAT", "value_h: [\"3f800000\", \"7\", \"0\", \"0\"]", 0x3F800000, 7},
      {"COMPLEX_HALF", "value_f: [1, 65520, 0, 0]", 0x3C00, 0x7C00},
      {"COMPLEX_HALF", "value_h: [\"3c00\", \"7e01\", \"0\", \"0\"]", 0x3C00, 0x7E01},
  };
  for (const auto& [dtype, elements, first, second] : rows) {
    SCOPED_TRACE(dtype + ' ' + elements);
    const Tensor tensor = parse(with_col(dtype, elements)).inputs[0];
    const Bytes bytes = load(tensor, tensor.elements, "");
    EXPECT_EQ(bits_at(bytes.data(), tensor.dtype, 0), first);
    EXPECT_EQ(bits_at(bytes.data(), tensor.dtype, 1), second);
  }
}

// Each representation takes precedence over the representations below it.
TEST(CaseRead, FirstOfSeveralRepresentations) {
  const std::string representations[] = {"value_h: [\"1\", \"1\"]", "value_f: [2, 2]",  "value_i: [3, 3]",
                                         "value_l: [4, 4]",         "value_ui: [5, 5]", "value_ul: [6, 6]",
                                         "path: \"x.bin\"",         "random_data { }"};
  std::string later;
  for (size_t i = std::size(representations); i > 0; --i) {
    SCOPED_TRACE(representations[i - 1]);
    const Elements elements = parse(with_col("INT32", later + representations[i - 1])).inputs[0].elements;
    const std::string field = representations[i - 1].substr(0, representations[i - 1].find_first_of(": "));
    EXPECT_THAT(elements.place.field, ::testing::EndsWith('.' + field));
    if (elements.source == Elements::Source::kInline) {
      EXPECT_EQ(bits_at(elements.bytes.data(), MLUOP_DTYPE_INT32, 1), i);
    }
    later += representations[i - 1] + ' ';
  }
  const std::string contents = "initial { path: \"x\" value_l: [7, 7] value_h: [\"8\", \"8\"] }";
  const Bytes initial = parse(with_col("INT32", contents)).inputs[0].initial->bytes;
  EXPECT_EQ(bits_at(initial.data(), MLUOP_DTYPE_INT32, 0), 8U);
}

// The numbers of std::uniform_real_distribution, the upper bound exclusive; integers rounded down.
TEST(CaseRead, RandomNumbersAreThoseOfTheFieldsGenerator) {
  std::default_random_engine engine(9);
  std::uniform_real_distribution<float> uniform(-2, std::nexttoward(5.0F, -HUGE_VALL));
  const Random random{.seed = 9, .lower = -2, .upper = 5};
  const Bytes floats = random_elements(random, MLUOP_DTYPE_FLOAT, 100);
  const Bytes integers = random_elements(random, MLUOP_DTYPE_INT32, 100);
  const Bytes halves = random_elements(random, MLUOP_DTYPE_HALF, 100);
  for (size_t i = 0; i < 100; ++i) {
    const float expected = uniform(engine);
    EXPECT_EQ(number_at(floats.data(), MLUOP_DTYPE_FLOAT, i), expected);
    EXPECT_EQ(number_at(integers.data(), MLUOP_DTYPE_INT32, i), std::floor(expected));
    EXPECT_NEAR(number_at(halves.data(), MLUOP_DTYPE_HALF, i), expected, 0x1p-9);
  }
  std::default_random_engine double_engine(9);
  std::uniform_real_distribution<double> uniform_double(-2, std::nexttoward(5.0, -HUGE_VALL));
  const Bytes doubles = random_elements(random, MLUOP_DTYPE_DOUBLE, 100);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(number_at(doubles.data(), MLUOP_DTYPE_DOUBLE, i), uniform_double(double_engine));
  }
  std::default_random_engine normal_engine(23);
  std::normal_distribution<float> normal(1, 2);
  const Random gaussian{.mu = 1, .sigma = 2, .distribution = Distribution::kGaussian};
  const Bytes normals = random_elements(gaussian, MLUOP_DTYPE_FLOAT, 10);
  for (size_t i = 0; i < 10; ++i)
    EXPECT_EQ(number_at(normals.data(), MLUOP_DTYPE_FLOAT, i), normal(normal_engine));
}

TEST(CaseRead, InvertedBoundsStayInRange) {
  const Bytes indices = random_elements({.seed = 233, .lower = 6, .upper = 0}, MLUOP_DTYPE_INT32, 1000);
  for (size_t i = 0; i < 1000; ++i) {
    EXPECT_THAT(number_at(indices.data(), MLUOP_DTYPE_INT32, i),
                ::testing::AllOf(::testing::Ge(0), ::testing::Le(6)));
  }
}

// The error of a case that is parsed, bound and loaded; empty if the case is valid.
std::string message_of(const std::string& text) {
  try {
    const Case parsed = parse(text);
    for (const BoundTensor& bound : bind(parsed, operator_of(parsed.op_name, {}))) {
      if (bound.before != nullptr) load(*bound.tensor, *bound.before, "/nonexistent");
    }
  } catch (const Problem& problem) {
    return problem.what();
  }
  return "";
}

TEST(CaseRead, Messages) {
  const std::string col = "x.prototxt:2: input[0] (col)";
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "x.prototxt: op_name is missing"},
           {"op_name: \"add\"", "x.prototxt:1: op_name: unknown operator 'add'"},
           {"op_name: \"add\"\nop_type: NONSENSE", "x.prototxt:1: op_name: unknown operator 'add'"},
           {"\nop_name ball_query", "x.prototxt:2: "},
           {"op_name: \"ball_query\"", "x.prototxt:1: ball_query_param is missing"},
           {with_col("FLOAT", "value_f: 1"), col + ".value_f: 1 value, expected 2 for shape [1, 2]"},
           {with_col("FLOAT", "value_f: 1 value_f: x"), "x.prototxt:2: value_f: Expected double, got: x"},
           {with_col("FLOAT", "value_i: 1 value_i: 2 value_f: 1"),
            col + ".value_f: 1 value, expected 2 for shape"},
           {with_col("FLOAT", "random_data { } value_ul: [1, 2, 3]"),
            col + ".value_ul: 3 values, expected 2 for shape [1, 2]"},
           {with_col("FLOAT", "path: \"x.bin\\000/../x.bin\""), col + ".path: contains a null character"},
           {with_col("FLOAT", "value_h: \"1\" value_h: \"1ffffffff\""), col + ".value_h: value 1 is '1ffffffff'"},
           {with_col("HALF", "value_h: \"1g\" value_h: \"1\""), col + ".value_h: value 0 is '1g'"},
           {with_col("HALF", "value_i: 0 value_i: 65536"),
            col + ".value_i: value 1 is 65536, which is not a valid half"},
           {with_col("INT8", "value_i: 128 value_i: -129"),
            col + ".value_i: value 1 is -129, which is not a valid int8"},
           {with_col("INT32", "value_f: 0.5 value_f: 1"), col + ".value_f: value 0 is 0.5"},
           {with_col("COMPLEX_FLOAT", "value_f: 1 value_f: 2"),
            col + ".value_f: 2 values, expected 4 for shape [1, 2] of pairs"},
           {with_col("COMPLEX_HALF", "value_h: [\"1\", \"10000\", \"0\", \"0\"]"),
            col + ".value_h: value 1 is '10000', expected the hexadecimal digits of a half"},
           {with_col("UNSET", ""), col + ".dtype: is not a data type of elements"},
           {with_col("FLOAT", "") +
                "test_param { error_func: DIFF1 error_threshold: 0 error_threshold_imag: [0, 0] }",
            "1 error_func and 2 error_threshold_imag, expected at most as many"},
           {with_col("FLOAT", "") +
                "evaluation_criterion: DIFF1 evaluation_threshold: 0 evaluation_threshold_imag: -2",
            "evaluation_threshold_imag[0]: threshold is -2"},
           {with_col("INT33", ""), "x.prototxt:2: dtype: Unknown enumeration value of \"DTYPE_INT33\""},
           {with_col("FLOAT", "", "dims: -1 dims: 2"),
            col + ".shape: shape is [-1, 2], expected no negative dimension"},
           {with_col("FLOAT", "", "dims: 4611686018427387904 dims: 4"),
            col + ".shape: shape is [4611686018427387904, 4]"},
           {with_col("FLOAT", "", "dims: 1000000000 dims: 1000000"), "more bytes than the machine's memory"},
           {with_col("FLOAT", "", "dims: [1,1,1,1,1,1,1,1,1]"), col + ".shape: shape has 9 dimensions"},
           {with_col("FLOAT", "", "dim_stride: 1"), col + ".shape: has no shape"},
           {with_col("FLOAT", "", "dims: [1, 2] dim_stride: 2"),
            col + ".shape: 1 values of dim_stride, expected 2"},
           {with_col("FLOAT", "random_data { distribution: SAMPLE }"), "distribution: SAMPLE is not supported"},
           {with_col("FLOAT", "random_data { lower_bound: inf }"), col + ".random_data: a bound is not finite"},
           {with_col("FLOAT", "initial { value_f: 1 }"), col + ".initial.value_f: 1 value, expected 2"},
           {with_col("FLOAT", "") + "test_param { error_func: DIFF1 }",
            "x.prototxt:6: test_param.error_func: 1 error_func and 0"},
           {with_col("FLOAT", "") + "test_param { error_func: DIFF_KL error_threshold: 0 }",
            "DIFF_KL is not supported"},
           {with_col("FLOAT", "") + "evaluation_criterion: DIFF1 evaluation_threshold: nan", "expected 0 or more"},
           {with_col("FLOAT", "") + "omp_settings { algorithm: \"fast\" }", "algorithm is 'fast'"},
           {"op_name: \"three_nn_forward\"\ninput { id: \"a\" shape { dims: 1 } dtype: DTYPE_INT32 }",
            "x.prototxt:1: three_nn_forward has 2 inputs and 2 outputs (unknown, known -> dist2, idx), found 1 "
            "and 0"},
           {with_col("FLOAT", "") + "input { id: \"col\" shape { dims: 1 } dtype: DTYPE_FLOAT }",
            "x.prototxt:6: input[3] (col): a second tensor col"},
           {"op_name: \"masked_col2im_forward\"\ninput { id: \"im\" shape { dims: 1 } dtype: DTYPE_FLOAT }",
            "im is an output of masked_col2im_forward"},
           {with_col("FLOAT", "path: \"none.bin\""),
            col + ".path: file /nonexistent/none.bin of tensor col is missing"},
       }) {
    SCOPED_TRACE(text);
    EXPECT_THAT(message_of(text), HasSubstr(message));
  }
  EXPECT_EQ(message_of(with_col("FLOAT", "")), "");
}

TEST(CaseRead, UnknownFieldsAndExtensionsAreSkipped) {
  const Case parsed =
      parse(with_col("FLOAT", "onchip_dtype: DTYPE_UNSET future { a { b: [1, 2] } }") +
            "threshold_rate: [10, 10] runtime_env { dl_framework: \"x\" } [mluoptest.more] { a: 1 }");
  EXPECT_EQ(parsed.inputs.size(), 3U);
  EXPECT_EQ(parsed.inputs[0].onchip_dtype, MLUOP_DTYPE_INVALID);
}

// Real and imaginary parts are drawn in turn.
TEST(CaseRead, RandomComplexNumbers) {
  const Random random{.seed = 5};
  EXPECT_EQ(random_elements(random, MLUOP_DTYPE_COMPLEX_FLOAT, 8), random_elements(random, MLUOP_DTYPE_FLOAT, 16));
  EXPECT_EQ(random_elements(random, MLUOP_DTYPE_COMPLEX_HALF, 8), random_elements(random, MLUOP_DTYPE_HALF, 16));
}

TEST(CaseRead, OnchipTypesAndThresholdsOfImaginaryParts) {
  const Case parsed = parse(with_col("COMPLEX_FLOAT", "onchip_dtype: DTYPE_INT31") +
                            "test_param { error_func: [DIFF1, DIFF2] error_threshold: [0.5, 0.25]"
                            " error_threshold_imag: [1, 0.125] }");
  EXPECT_EQ(parsed.inputs[0].onchip_dtype, MLUOP_DTYPE_INT31);
  EXPECT_EQ(parsed.criteria[0].imaginary_threshold, 1);
  EXPECT_EQ(parsed.criteria[1].imaginary_threshold, 0.125);
  EXPECT_EQ(text_of(parse(text_of(parsed))), text_of(parsed));
}

// As in files of MLU-OPS: an absent message, a null input of an operator without inputs, an output without a
// stated result, no threshold of the imaginary part.
TEST(CaseRead, AbsentPartsOfUpstreamCases) {
  const auto tensor = [](const std::string& list, const std::string& id) {
    return list + " { id: \"" + id + "\" shape { dims: 2 } dtype: DTYPE_FLOAT random_data { seed: 1 } }\n";
  };
  const Case div =
      parse("op_name: \"div\"\n" + tensor("input", "x") + tensor("input", "y") + tensor("output", "z"));
  EXPECT_EQ(div.parameters.integer("prefer"), MLUOP_COMPUTATION_HIGH_PRECISION);
  EXPECT_EQ(div.inputs[1].elements.source, Elements::Source::kRandom);
  EXPECT_EQ(div.outputs[0].elements.source, Elements::Source::kNone);
  const Case space =
      parse("op_name: \"logspace\"\ninput { id: \"NULL\" dtype: DTYPE_FLOAT }\n" + tensor("output", "res") +
            "logspace_param { start: 0 end: 1 steps: 2 base: 2 }\n"
            "evaluation_criterion: DIFF1 evaluation_threshold: 0 evaluation_threshold_imag: -1");
  EXPECT_TRUE(space.inputs.empty());
  EXPECT_FALSE(space.criteria[0].imaginary_threshold.has_value());
}

// As MLU-OPS writes them: thresholds of an output, which test_param replaces.
TEST(CaseRead, ThresholdsOfOutputs) {
  std::string text = with_col("FLOAT", "");
  text.insert(text.rfind('}'), "thresholds { evaluation_threshold: 0.5 } ");
  text += "evaluation_criterion: DIFF1\n";
  const Case parsed = parse(text);
  ASSERT_EQ(parsed.criteria.size(), 1U);
  EXPECT_EQ(parsed.criteria[0].threshold, 0.5);
  const Case replaced = parse(text + "test_param { error_func: DIFF2 error_threshold: 0.25 }");
  ASSERT_EQ(replaced.criteria.size(), 1U);
  EXPECT_EQ(replaced.criteria[0].metric, Metric::kDiff2);
  EXPECT_THAT(message_of(with_col("FLOAT", "") + "evaluation_criterion: DIFF1"),
              HasSubstr("1 evaluation_criterion and 0 evaluation_threshold"));
}

TEST(CaseRead, BinaryAndTextAreTheSameCase) {
  const Case parsed = parse(with_col("FLOAT", "value_h: \"7fc00001\" value_h: \"3f800000\""));
  const std::string text = text_of(parsed);
  const std::string file = ::testing::TempDir() + "/binary.pb";
  write_case(parsed, file);
  EXPECT_EQ(text_of(read_case(file)), text);
  EXPECT_EQ(text_of(parse(text)), text);
  EXPECT_THROW(parse_case("\x32\xff", Format::kBinary, "x.pb"), Problem);
}

}  // namespace
}  // namespace mluop::cases
