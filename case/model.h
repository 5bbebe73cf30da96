// An operator case in memory: tensors with the source of their elements, parameters and criteria, independent of
// protobuf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "mlu_op.h"

namespace mluop::cases {

using Bytes = std::vector<std::byte>;
using Dims = std::vector<int64_t>;

// A case that cannot be run: what() is "file:line: field: text", without unknown parts.
class Problem : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The position of a part of a case. line 0: unknown, as in binary files.
struct Place {
  std::string file = {};
  int line = 0;
  std::string field = {};
};

[[noreturn]] void fail(const Place& place, const std::string& text);

enum class Distribution { kUniform, kGaussian };

struct Random {
  int32_t seed = 23;
  double lower = -1, upper = 1;  // uniform
  double mu = 0, sigma = 1;      // Gaussian
  Distribution distribution = Distribution::kUniform;
};

// The source of the elements of a tensor.
struct Elements {
  enum class Source { kNone, kInline, kFile, kRandom };

  Source source = Source::kNone;
  Bytes bytes = {};       // kInline: elements of the tensor's data type
  std::string path = {};  // kFile
  Random random = {};     // kRandom
  Place place = {};
};

struct Tensor {
  std::string id = {};
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY;
  mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT;
  Dims dims = {};
  Dims strides = {};  // empty: contiguous
  // INVALID: not set
  mluOpDataType_t onchip_dtype = MLUOP_DTYPE_INVALID;
  Elements elements = {};
  std::optional<Elements> initial = {};  // output: contents before the call
  std::optional<Elements> result = {};   // input: contents after the call
  Place place = {};

  // Whether the call receives the tensor as a null pointer.
  bool is_null() const { return id.find("NULL") != std::string::npos; }
};

// A field of the message <op_name>_param: a number, several, or text.
struct Parameter {
  enum class Kind { kInteger, kReal, kText, kList };

  std::string name;
  Kind kind = Kind::kInteger;
  bool present = false;  // stated in the file; false: a default
  int64_t integer = 0;
  double real = 0;
  std::string text = {};
  std::vector<int64_t> list = {};
};

struct Parameters {
  std::string message;  // "ball_query_param"; empty: no parameters
  std::vector<Parameter> all;
  Place place;

  const Parameter* find(std::string_view name) const;
  // Throw Problem if the case has no such parameter or if, for int32, its value exceeds the type.
  int64_t integer(std::string_view name) const;
  int int32(std::string_view name) const;
  double real(std::string_view name) const;
  const std::vector<int64_t>& list(std::string_view name) const;
  // Replace the value.
  void set(std::string_view name, int64_t value);
  void set_real(std::string_view name, double value);
  void set(std::string_view name, std::vector<int64_t> values);
};

enum class Metric { kDiff1, kDiff2, kDiff3, kDiff3_2, kDiff4, kBits };
inline constexpr Metric kMetrics[] = {Metric::kDiff1,   Metric::kDiff2, Metric::kDiff3,
                                      Metric::kDiff3_2, Metric::kDiff4, Metric::kBits};

struct Criterion {
  Metric metric;
  double threshold;
  // The threshold of imaginary parts; absent: `threshold`.
  std::optional<double> imaginary_threshold = {};
};

struct Case {
  std::string file;
  std::string op_name;
  std::vector<Tensor> inputs, outputs;
  Parameters parameters;
  std::vector<Criterion> criteria;       // empty: the criteria of the operator
  std::optional<std::string> algorithm;  // algorithm of a recorded call
  std::optional<int> tasks;
  Place place;
};

// Number of elements, and of their bytes. Throw Problem if the shape is invalid or the bytes exceed the memory of
// the machine.
int64_t element_count(const Tensor& tensor);
size_t byte_count(const Tensor& tensor);
// The bytes from the first to the last element in memory with the strides of the tensor. Throws Problem likewise.
size_t span_bytes(const Tensor& tensor);

// "2, 3"
std::string joined(const std::vector<std::string>& texts);
// "[2, 3]"
std::string text_of(const Dims& dims);
// "diff3_2"
std::string_view name_of(Metric metric);
// A number of at most `digits` significant digits: "1.2e-07".
std::string text_of(long double value, int digits);
// Number of digits that distinguish any two floats.
inline constexpr int kElementDigits = 9;

}  // namespace mluop::cases
