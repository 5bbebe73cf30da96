// The checks of a call: status and message of each rule, their order, and memory that overlaps.
#include "team/operator_call.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mluop::test {
namespace {

constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
constexpr auto kArray = MLUOP_LAYOUT_ARRAY;

TensorDescriptor tensor(std::initializer_list<int64_t> dims, mluOpDataType_t dtype = kFloat) {
  TensorDescriptor desc{kArray, dtype, static_cast<int>(dims.size()), {}, {}};
  std::copy(dims.begin(), dims.end(), desc.dims.begin());
  set_contiguous_strides(desc);
  return desc;
}

class TeamOperatorCall : public ::testing::Test {
 protected:
  using Body = std::function<void(Call&)>;

  // Runs `body` as an operator. Requires that it fails with the message, or succeeds if the message is "".
  void expect(const std::string& message, const Body& body, mluOpStatus_t failure = MLUOP_STATUS_BAD_PARAM) {
    SCOPED_TRACE(message);
    EXPECT_EQ(run_operator("example", &context_, body), message.empty() ? MLUOP_STATUS_SUCCESS : failure);
    if (!message.empty()) {
      EXPECT_EQ(last_error(), "[example] " + message);
    }
  }

  Context context_;
};

TEST_F(TeamOperatorCall, NullArguments) {
  bool ran = false;
  EXPECT_EQ(run_operator("example", nullptr, [&](Call&) { ran = true; }), MLUOP_STATUS_BAD_PARAM);
  EXPECT_FALSE(ran);
  const auto empty = tensor({2, 0}), full = tensor({2, 3});
  const auto with_points = [](const TensorDescriptor* desc) {
    return [=](Call& call) {
      call.input("points", desc, nullptr, kFloat, kArray, {2, kAny});
      call.check_pointers();
      call.check_tensors();
    };
  };
  expect("points_desc is null", with_points(nullptr));
  expect("points is null, expected the data of a tensor [2, 3]", with_points(&full));
  expect("", with_points(&empty));
  expect("counts is null", [](Call& call) {
    call.host_array("counts", nullptr, 5);
    call.check_pointers();
  });
  size_t size = 0;
  const auto query = [&](Call& call) -> size_t {
    with_points (&full)(call);
    return 123;
  };
  EXPECT_EQ(run_workspace_query("query", &context_, &size, query), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(size, 123U);
}

TEST_F(TeamOperatorCall, Tensors) {
  const auto matching = tensor({2, 3}), flat = tensor({1}), wide = tensor({2, 4}),
             ints = tensor({2, 3}, MLUOP_DTYPE_INT32), empty = TensorDescriptor();
  auto strided = matching, nhwc = matching;
  strided.strides = {1, 2};
  nhwc.layout = MLUOP_LAYOUT_NHWC;
  const struct {
    const TensorDescriptor& desc;
    const char* message;
    mluOpStatus_t status = MLUOP_STATUS_BAD_PARAM;
  } kTable[] = {
      {matching, ""},
      {empty, "points has data type INVALID, expected FLOAT"},
      {ints, "points has data type INT32, expected FLOAT"},
      {nhwc, "points has layout NHWC, expected ARRAY"},
      {flat, "points has 1 dimensions, expected 2"},
      {wide, "points dim 1 is 4, expected 3"},
      {strided, "points has strides [1, 2], expected a contiguous tensor of shape [2, 3]",
       MLUOP_STATUS_NOT_SUPPORTED},
  };
  const float data[6] = {};
  for (const auto& row : kTable) {
    const auto body = [&](Call& call) {
      call.input("points", &row.desc, data, kFloat, kArray, {kAny, 3});
      call.check_tensors();
    };
    expect(row.message, body, row.status);
  }
}

TEST_F(TeamOperatorCall, CallsThatReadNothing) {
  const auto full = tensor({2, 3});
  float data[11] = {}, other[6] = {};
  const auto declare = [&](Call& call, void* sums, void* counts) {
    call.input("points", &full, nullptr, kFloat, kArray, {2, 3});
    call.output("sums", &full, sums, kFloat, kArray, {2, 3});
    call.inout("counts", &full, counts, kFloat, kArray, {2, 3});
    call.reads_nothing();
    call.check_pointers();
  };
  expect("", [&](Call& call) {
    declare(call, data, other);
    call.check_tensors();
    EXPECT_EQ(call.workspace(nullptr, 0, 100).capacity(), 0U);
  });
  expect("sums overlaps counts, expected disjoint memory", [&](Call& call) {
    declare(call, data, data + 5);
    call.check_tensors();
  });
  expect("sums is null, expected the data of a tensor [2, 3]", [&](Call& call) { declare(call, nullptr, data); });
  expect("counts is null, expected the data of a tensor [2, 3]",
         [&](Call& call) { declare(call, data, nullptr); });
}

TEST_F(TeamOperatorCall, Parameters) {
  const auto with = [](Parameter::Value value, int64_t least) {
    return [=](Call& call) {
      call.parameter("free", int64_t{-5});
      call.parameter("first", value, AtLeast{least});
      call.parameter("second", int64_t{-9}, AtLeast{-9});
      call.check_parameters();
    };
  };
  expect("", with(int64_t{1}, 1));
  expect("", with(0.0F, 0));
  expect("", with(true, 5));
  expect("first is 0, expected at least 1", with(int64_t{0}, 1));
  expect("first is -0.5, expected at least 0", with(-0.5F, 0));
  expect("first is nan, expected at least 0", with(std::nanf(""), 0));
  for (const auto mode : {MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMEAN, MLUOP_REDUCE_DMAX}) expect("", with(mode, 0));
  expect("first is 3, expected MLUOP_REDUCE_DSUM (0), MLUOP_REDUCE_DMEAN (1) or MLUOP_REDUCE_DMAX (2)",
         with(static_cast<mluOpReduceMode_t>(3), 0));
  expect("second is -1, expected at least 0", [](Call& call) {
    call.parameter("first", int64_t{0}, AtLeast{0});
    call.parameter("second", int64_t{-1}, AtLeast{0});
    call.check_parameters();
  });
}

TEST_F(TeamOperatorCall, TextOfParameters) {
  const int32_t values[] = {1, 2, -3};
  const std::span<const int32_t> all(values);
  const std::pair<Parameter::Value, const char*> kTable[] = {
      {int64_t{-7}, "n -7"},      {0.5F, "n 0.5"},       {false, "n false"},   {true, "n true"},
      {MLUOP_REDUCE_DMAX, "n 2"}, {all, "n [1, 2, -3]"}, {all.first(1), "n 1"}};
  for (const auto& [value, expected] : kTable) EXPECT_EQ(text_of(Parameter{"n", value, std::nullopt}), expected);
}

TEST_F(TeamOperatorCall, Devices) {
  for (const DeviceProfile& device : kDeviceProfiles) {
    context_.device = device;
    const std::string message = "device is " + std::string(device.name) + ", expected mlu370 or mlu590";
    const auto body = [](Call& call) { call.check_not_200_series(); };
    expect(device.is_200_series ? message : "", body, MLUOP_STATUS_ARCH_MISMATCH);
  }
}

TEST_F(TeamOperatorCall, Overlap) {
  struct Tensor {
    const char* name;  // "out...": an output
    int begin;
    int bytes;
  };
  const struct {
    std::vector<Tensor> tensors;
    const char* pair;  // the overlapping pair, or ""
  } kTable[] = {
      {{{"in", 8, 8}, {"out", 0, 8}}, ""},  // adjacent, output first
      {{{"in", 0, 8}, {"out", 8, 8}}, ""},  // adjacent, input first
      {{{"in", 40, 8}, {"out", 0, 8}}, ""},
      {{{"in", 0, 8}, {"out", 0, 8}}, "out overlaps in"},    // the same
      {{{"in", 8, 8}, {"out", 0, 9}}, "out overlaps in"},    // the output's last byte
      {{{"in", 0, 9}, {"out", 8, 8}}, "out overlaps in"},    // the input's last byte
      {{{"in", 8, 8}, {"out", 0, 32}}, "out overlaps in"},   // input inside output
      {{{"in", 0, 32}, {"out", 8, 8}}, "out overlaps in"},   // output inside input
      {{{"in", 0, 1}, {"out", 0, 32}}, "out overlaps in"},   // same first byte
      {{{"in", 0, 0}, {"out", 0, 0}}, ""},                   // both empty
      {{{"in", 0, 8}, {"out", 0, 0}}, ""},                   // empty, at the first byte of the input
      {{{"in", 0, 8}, {"out", 4, 0}}, ""},                   // empty, inside the input
      {{{"in", 4, 0}, {"out", 0, 8}}, ""},                   // the input empty, inside the output
      {{{"out", 0, 8}, {"in", 8, 8}, {"in 2", 12, 8}}, ""},  // inputs may share memory
      {{{"out", 0, 8}, {"out 2", 8, 8}, {"in", 12, 8}}, "out 2 overlaps in"},
      {{{"out", 0, 8}, {"out 2", 8, 8}, {"out 3", 12, 8}}, "out 2 overlaps out 3"},
  };
  uint8_t memory[64];
  for (const auto& row : kTable) {
    SCOPED_TRACE(&row - kTable);
    const std::string message = row.pair + std::string(", expected disjoint memory");
    expect(row.pair[0] == '\0' ? "" : message, [&](Call& call) {
      std::deque<TensorDescriptor> descs;
      for (const auto& [name, begin, bytes] : row.tensors) {
        descs.push_back(tensor({bytes}, MLUOP_DTYPE_UINT8));
        if (name[0] == 'o') {
          call.output(name, &descs.back(), memory + begin, MLUOP_DTYPE_UINT8, kArray, {bytes});
        } else {
          call.input(name, &descs.back(), memory + begin, MLUOP_DTYPE_UINT8, kArray, {bytes});
        }
      }
      call.check_tensors();
    });
  }
  const int64_t counts[2] = {};
  const auto sixteen = tensor({16}, MLUOP_DTYPE_UINT8);
  expect("out overlaps counts, expected disjoint memory", [&](Call& call) {
    call.host_array("counts", counts, 2);
    call.output("out", &sixteen, const_cast<int64_t*>(counts), MLUOP_DTYPE_UINT8, kArray, {16});
    call.check_tensors();
  });
}

TEST_F(TeamOperatorCall, Strides) {
  const auto strided = [](std::initializer_list<int64_t> dims, std::vector<int64_t> strides) {
    auto desc = tensor(dims);
    std::copy(strides.begin(), strides.end(), desc.strides.begin());
    return desc;
  };
  const auto contiguous = tensor({2, 3}), transposed = strided({2, 3}, {1, 2}), gaps = strided({2, 3}, {4, 1}),
             repeated = strided({2, 3}, {0, 1}), one = strided({1, 1}, {9, 9}), other = tensor({3, 2});
  const struct {
    Strides strides;
    const TensorDescriptor& in;
    const TensorDescriptor& out;
    const char* message;
  } kTable[] = {
      {Strides::kContiguous, contiguous, contiguous, ""},
      {Strides::kContiguous, transposed, contiguous,
       "in has strides [1, 2], expected a contiguous tensor of shape [2, 3]"},
      {Strides::kDense, contiguous, other, ""},
      {Strides::kDense, transposed, transposed, ""},
      {Strides::kDense, one, transposed, ""},
      {Strides::kDense, transposed, contiguous,
       "out has shape [2, 3] and strides [3, 1], expected shape [2, 3] and strides [1, 2] as in has"},
      {Strides::kDense, contiguous, transposed,
       "in has shape [2, 3] and strides [3, 1], expected shape [2, 3] and strides [1, 2] as out has"},
      {Strides::kDense, gaps, gaps, "in has strides [4, 1], expected a tensor without gaps of shape [2, 3]"},
      {Strides::kAny, repeated, gaps, ""},
      {Strides::kAny, gaps, repeated,
       "out has strides [0, 1], expected distinct places for the elements of shape [2, 3]"},
  };
  float memory[64] = {};
  const int64_t counts[1] = {0};
  for (const auto& row : kTable) {
    const auto body = [&](Call& call) {
      call.host_array("counts", counts, 1);
      call.input("in", &row.in, memory, kFloat, kArray, {kAny, kAny});
      call.output("out", &row.out, memory + 32, kFloat, kArray, {kAny, kAny});
      call.allow_strides(row.strides);
      call.check_tensors();
    };
    expect(row.message, body, MLUOP_STATUS_NOT_SUPPORTED);
  }
  // Gaps count as memory of a tensor.
  expect("out overlaps in, expected disjoint memory", [&](Call& call) {
    call.input("in", &contiguous, memory + 3, kFloat, kArray, {kAny, kAny});
    call.output("out", &gaps, memory, kFloat, kArray, {kAny, kAny});
    call.allow_strides(Strides::kAny);
    call.check_tensors();
  });
}

TEST_F(TeamOperatorCall, InPlace) {
  const auto floats = tensor({2, 3}), halves = tensor({2, 3}, MLUOP_DTYPE_HALF), other = tensor({3, 2});
  auto transposed = floats;
  transposed.strides = {1, 2};
  const struct {
    const TensorDescriptor& in;
    int begin;  // of the output
    bool is_same_tensor;
  } kTable[] = {
      {floats, 0, true}, {floats, 1, false}, {halves, 0, false}, {other, 0, false}, {transposed, 0, false}};
  float memory[16] = {};
  for (const auto& row : kTable) {
    for (const InPlace allowed : {InPlace::kNever, InPlace::kSameTensor, InPlace::kSameData}) {
      const bool is_allowed = (allowed == InPlace::kSameTensor && row.is_same_tensor) ||
                              (allowed == InPlace::kSameData && row.begin == 0);
      expect(is_allowed ? "" : "out overlaps in, expected disjoint memory", [&](Call& call) {
        call.input("in", &row.in, memory, row.in.dtype, kArray, {kAny, kAny});
        call.output("out", &floats, memory + row.begin, kFloat, kArray, {2, 3});
        call.allow_strides(Strides::kAny);
        call.allow_in_place(allowed);
        call.check_tensors();
      });
    }
  }
  // An array without descriptor is not a tensor.
  int64_t counts[3] = {};
  const auto integers = tensor({3}, MLUOP_DTYPE_INT64);
  expect("out overlaps counts, expected disjoint memory", [&](Call& call) {
    call.host_array("counts", counts, 3);
    call.output("out", &integers, counts, MLUOP_DTYPE_INT64, kArray, {3});
    call.allow_in_place(InPlace::kSameData);
    call.check_tensors();
  });
  // Two outputs are never the same.
  expect("out overlaps out 2, expected disjoint memory", [&](Call& call) {
    call.output("out", &floats, memory, kFloat, kArray, {2, 3});
    call.output("out 2", &floats, memory, kFloat, kArray, {2, 3});
    call.allow_in_place(InPlace::kSameData);
    call.check_tensors();
  });
}

TEST_F(TeamOperatorCall, Workspace) {
  alignas(64) uint8_t memory[512];
  const auto eight = tensor({8}, MLUOP_DTYPE_UINT8);
  // An input in bytes [0, 8), an output in bytes [8, 16).
  const auto with_workspace = [&](void* workspace, size_t size, size_t needed) {
    return [=, &eight, &memory](Call& call) {
      call.input("in", &eight, memory, MLUOP_DTYPE_UINT8, kArray, {8});
      call.output("out", &eight, memory + 8, MLUOP_DTYPE_UINT8, kArray, {8});
      const Arena arena = call.workspace(workspace, size, needed);
      EXPECT_LE(arena.capacity(), needed);
    };
  };
  expect("", with_workspace(memory + 16, 100, 100));
  expect("", with_workspace(memory + 16, SIZE_MAX, 100));
  expect("workspace_size is 99, expected at least 100", with_workspace(memory + 16, 99, 100));
  expect("workspace is null", with_workspace(nullptr, 100, 100));
  expect("workspace overlaps in, expected disjoint memory", with_workspace(memory + 7, 100, 1));
  expect("out overlaps workspace, expected disjoint memory", with_workspace(memory + 15, 100, 100));
  // If the operator needs no workspace, it may be null or share memory with an input, but not with an output.
  expect("", with_workspace(nullptr, 0, 0));
  expect("workspace is null", with_workspace(nullptr, 100, 0));
  expect("", with_workspace(memory, 8, 0));
  expect("out overlaps workspace, expected disjoint memory", with_workspace(memory, 9, 0));
}

}  // namespace
}  // namespace mluop::test
