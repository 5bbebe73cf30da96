// The checks of a call: status and message of each rule, their order, and memory that overlaps.
#include "team/operator_call.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <span>
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
  // Expects that the body of an operator fails so.
  void expect_failure(mluOpStatus_t status, const std::string& message, const std::function<void(Call&)>& body) {
    EXPECT_EQ(run_operator("example", &context_, body), status);
    EXPECT_EQ(last_error(), "[example] " + message);
  }
  void expect_success(const std::function<void(Call&)>& body) {
    EXPECT_EQ(run_operator("example", &context_, body), MLUOP_STATUS_SUCCESS) << last_error();
  }

  Context context_;
};

TEST_F(TeamOperatorCall, NullArguments) {
  bool ran = false;
  EXPECT_EQ(run_operator("example", nullptr, [&](Call&) { ran = true; }), MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(last_error(), "[example] handle is null");
  size_t size = 77;
  const auto query = [&](Call&) -> size_t {
    ran = true;
    return 1;
  };
  EXPECT_EQ(run_workspace_query("query", nullptr, &size, query), MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(last_error(), "[query] handle is null");
  EXPECT_EQ(run_workspace_query("query", &context_, nullptr, query), MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(last_error(), "[query] workspace_size is null");
  EXPECT_EQ(size, 77U);
  EXPECT_FALSE(ran);

  const auto desc = tensor({2, 3});
  expect_failure(MLUOP_STATUS_BAD_PARAM, "points_desc is null", [](Call& call) {
    call.input("points", nullptr, nullptr, kFloat, kArray, {2, 3});
    call.check_pointers();
  });
  expect_failure(MLUOP_STATUS_BAD_PARAM, "points is null, expected the data of a tensor [2, 3]", [&](Call& call) {
    call.input("points", &desc, nullptr, kFloat, kArray, {2, 3});
    call.check_pointers();
  });
  expect_failure(MLUOP_STATUS_BAD_PARAM, "counts is null", [&](Call& call) {
    call.host_array("counts", nullptr, 5);
    call.check_pointers();
  });
}

TEST_F(TeamOperatorCall, DataThatMayBeNull) {
  const auto empty = tensor({2, 0}), full = tensor({2, 3});
  expect_success([&](Call& call) {
    call.input("points", &empty, nullptr, kFloat, kArray, {2, 0});
    call.output("sums", &empty, nullptr, kFloat, kArray, {2, 0});
    call.check_pointers();
    call.check_tensors();
  });
  size_t size = 0;
  EXPECT_EQ(run_workspace_query("query", &context_, &size,
                                [&](Call& call) -> size_t {
                                  call.input("points", &full, nullptr, kFloat, kArray, {2, 3});
                                  call.check_pointers();
                                  call.check_tensors();
                                  return 123;
                                }),
            MLUOP_STATUS_SUCCESS);
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
    expect_failure(row.status, row.message, [&](Call& call) {
      call.input("points", &row.desc, data, kFloat, kArray, {kAny, 3});
      call.check_tensors();
    });
  }
  expect_success([&](Call& call) {
    call.input("points", &matching, data, kFloat, kArray, {kAny, 3});
    call.check_tensors();
  });
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
  expect_success([&](Call& call) {
    declare(call, data, other);
    call.check_tensors();
    EXPECT_EQ(call.workspace(nullptr, 0, 100).capacity(), 0U);
  });
  expect_failure(MLUOP_STATUS_BAD_PARAM, "sums overlaps counts, expected memory of its own", [&](Call& call) {
    declare(call, data, data + 5);
    call.check_tensors();
  });
  expect_failure(MLUOP_STATUS_BAD_PARAM, "sums is null, expected the data of a tensor [2, 3]",
                 [&](Call& call) { declare(call, nullptr, data); });
  expect_failure(MLUOP_STATUS_BAD_PARAM, "counts is null, expected the data of a tensor [2, 3]",
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
  expect_success(with(int64_t{1}, 1));
  expect_success(with(0.0F, 0));
  expect_success(with(true, 5));
  expect_failure(MLUOP_STATUS_BAD_PARAM, "first is 0, expected at least 1", with(int64_t{0}, 1));
  expect_failure(MLUOP_STATUS_BAD_PARAM, "first is -0.5, expected at least 0", with(-0.5F, 0));
  expect_failure(MLUOP_STATUS_BAD_PARAM, "first is nan, expected at least 0", with(std::nanf(""), 0));
  for (const auto mode : {MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMEAN, MLUOP_REDUCE_DMAX}) expect_success(with(mode, 0));
  expect_failure(MLUOP_STATUS_BAD_PARAM,
                 "first is 3, expected MLUOP_REDUCE_DSUM (0), MLUOP_REDUCE_DMEAN (1) or MLUOP_REDUCE_DMAX (2)",
                 with(static_cast<mluOpReduceMode_t>(3), 0));
  expect_failure(MLUOP_STATUS_BAD_PARAM, "second is -1, expected at least 0", [](Call& call) {
    call.parameter("first", int64_t{0}, AtLeast{0});
    call.parameter("second", int64_t{-1}, AtLeast{0});
    call.check_parameters();
  });
}

TEST_F(TeamOperatorCall, TextOfParameters) {
  const int32_t values[] = {1, 2, -3};
  const std::span<const int32_t> all(values);
  EXPECT_EQ(text_of(Parameter{"n", int64_t{-7}, std::nullopt}), "n -7");
  EXPECT_EQ(text_of(Parameter{"radius", 0.5F, std::nullopt}), "radius 0.5");
  EXPECT_EQ(text_of(Parameter{"flag", false, std::nullopt}), "flag false");
  EXPECT_EQ(text_of(Parameter{"mode", MLUOP_REDUCE_DMAX, std::nullopt}), "mode 2");
  EXPECT_EQ(text_of(Parameter{"pad", all, std::nullopt}), "pad [1, 2, -3]");
  EXPECT_EQ(text_of(Parameter{"count", all.first(1), std::nullopt}), "count 1");
}

TEST_F(TeamOperatorCall, Devices) {
  for (const DeviceProfile& device : kDeviceProfiles) {
    context_.device = device;
    const auto body = [](Call& call) { call.check_not_200_series(); };
    if (device.is_200_series) {
      expect_failure(MLUOP_STATUS_ARCH_MISMATCH,
                     "device is " + std::string(device.name) + ", expected mlu370 or mlu590", body);
    } else {
      expect_success(body);
    }
  }
}

TEST_F(TeamOperatorCall, Overlap) {
  constexpr struct {
    int output_begin;
    int output_bytes;
    int input_begin;
    int input_bytes;
    bool apart;
  } kTable[] = {
      {0, 8, 8, 8, true},    // adjacent, output first
      {8, 8, 0, 8, true},    // adjacent, input first
      {0, 8, 40, 8, true},   // far
      {0, 8, 0, 8, false},   // the same
      {0, 9, 8, 8, false},   // the output's last byte
      {8, 8, 0, 9, false},   // the input's last byte
      {0, 32, 8, 8, false},  // input inside output
      {8, 8, 0, 32, false},  // output inside input
      {0, 32, 0, 1, false},  // same first byte
      {0, 0, 0, 0, true},    // both empty
      {0, 0, 0, 8, true},    // empty, at the first byte of the input
      {4, 0, 0, 8, true},    // empty, inside the input
      {0, 8, 4, 0, true},    // the input empty, inside the output
  };
  uint8_t memory[64];
  for (const auto& row : kTable) {
    SCOPED_TRACE(testing::Message() << row.output_begin << " + " << row.output_bytes << ", " << row.input_begin
                                    << " + " << row.input_bytes);
    const auto in = tensor({row.input_bytes}, MLUOP_DTYPE_UINT8),
               out = tensor({row.output_bytes}, MLUOP_DTYPE_UINT8);
    const auto body = [&](Call& call) {
      call.input("in", &in, memory + row.input_begin, MLUOP_DTYPE_UINT8, kArray, {kAny});
      call.output("out", &out, memory + row.output_begin, MLUOP_DTYPE_UINT8, kArray, {kAny});
      call.check_tensors();
    };
    if (row.apart) {
      expect_success(body);
    } else {
      expect_failure(MLUOP_STATUS_BAD_PARAM, "out overlaps in, expected memory of its own", body);
    }
  }
}

TEST_F(TeamOperatorCall, OverlapNamesThePair) {
  uint8_t memory[64];
  const auto eight = tensor({8}, MLUOP_DTYPE_UINT8);
  const auto input = [&](Call& call, const char* name, int begin) {
    call.input(name, &eight, memory + begin, MLUOP_DTYPE_UINT8, kArray, {8});
  };
  const auto output = [&](Call& call, const char* name, int begin) {
    call.output(name, &eight, memory + begin, MLUOP_DTYPE_UINT8, kArray, {8});
  };
  expect_success([&](Call& call) {  // inputs may share memory
    output(call, "first", 0);
    input(call, "second", 8);
    input(call, "third", 12);
    call.check_tensors();
  });
  expect_failure(MLUOP_STATUS_BAD_PARAM, "second overlaps third, expected memory of its own", [&](Call& call) {
    output(call, "first", 0);
    output(call, "second", 8);
    input(call, "third", 12);
    call.check_tensors();
  });
  expect_failure(MLUOP_STATUS_BAD_PARAM, "second overlaps third, expected memory of its own", [&](Call& call) {
    output(call, "first", 0);
    output(call, "second", 8);
    output(call, "third", 12);
    call.check_tensors();
  });
  const int64_t counts[2] = {};
  expect_failure(MLUOP_STATUS_BAD_PARAM, "out overlaps counts, expected memory of its own", [&](Call& call) {
    const auto sixteen = tensor({16}, MLUOP_DTYPE_UINT8);
    call.host_array("counts", counts, 2);
    call.output("out", &sixteen, const_cast<int64_t*>(counts), MLUOP_DTYPE_UINT8, kArray, {16});
    call.check_tensors();
  });
}

TEST_F(TeamOperatorCall, Workspace) {
  alignas(64) uint8_t memory[512];
  const auto eight = tensor({8}, MLUOP_DTYPE_UINT8);
  // An input in bytes [0, 8), an output in [8, 16).
  const auto with_workspace = [&](void* workspace, size_t size, size_t needed) {
    return [=, &eight, &memory](Call& call) {
      call.input("in", &eight, memory, MLUOP_DTYPE_UINT8, kArray, {8});
      call.output("out", &eight, memory + 8, MLUOP_DTYPE_UINT8, kArray, {8});
      const Arena arena = call.workspace(workspace, size, needed);
      EXPECT_LE(arena.capacity(), needed);
    };
  };
  expect_success(with_workspace(memory + 16, 100, 100));
  expect_success(with_workspace(memory + 16, SIZE_MAX, 100));
  expect_failure(MLUOP_STATUS_BAD_PARAM, "workspace_size is 99, expected at least 100",
                 with_workspace(memory + 16, 99, 100));
  expect_failure(MLUOP_STATUS_BAD_PARAM, "workspace is null", with_workspace(nullptr, 100, 100));
  expect_failure(MLUOP_STATUS_BAD_PARAM, "workspace overlaps in, expected memory of its own",
                 with_workspace(memory + 7, 100, 1));
  expect_failure(MLUOP_STATUS_BAD_PARAM, "out overlaps workspace, expected memory of its own",
                 with_workspace(memory + 15, 100, 100));
  // A workspace that is not needed may be null or share memory with an input, but not with an output.
  expect_success(with_workspace(nullptr, 0, 0));
  expect_failure(MLUOP_STATUS_BAD_PARAM, "workspace is null", with_workspace(nullptr, 100, 0));
  expect_success(with_workspace(memory, 8, 0));
  expect_failure(MLUOP_STATUS_BAD_PARAM, "out overlaps workspace, expected memory of its own",
                 with_workspace(memory, 9, 0));
}

}  // namespace
}  // namespace mluop::test
