// Every rule that mluOpBallQuery checks.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ops/ball_query/call.h"
#include "support/environment.h"
#include "support/error_table.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

using Call = BallQueryCall<float>;
using Table = ErrorTable<Call>;

constexpr auto kFloat = MLUOP_DTYPE_FLOAT, kHalf = MLUOP_DTYPE_HALF, kInt = MLUOP_DTYPE_INT32;
constexpr BallQueryProblem kProblem = {2, 50, 90, 4, 0.1F, 0.5F};

template <class T = float>
BallQueryInputs<T> valid_inputs(const BallQueryProblem& problem = kProblem) {
  auto random = seeded_random();
  return random_ball_query<T>(problem, random);
}

TEST(OpsBallQueryErrors, Shapes) {
  const auto strides = [](const char* name, const char* found, const char* shape) {
    return std::string(name) + " has strides " + found + ", expected a contiguous tensor of shape " + shape;
  };
  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"null new_xyz desc", set(&Call::new_xyz_desc, nullptr), "new_xyz_desc is null"},
      {"null xyz desc", set(&Call::xyz_desc, nullptr), "xyz_desc is null"},
      {"null idx desc", set(&Call::idx_desc, nullptr), "idx_desc is null"},
      {"int new_xyz", set(&Call::new_xyz_desc, Descriptor(kInt, {2, 50, 3})),
       "new_xyz has data type INT32, expected FLOAT or HALF"},
      {"empty descriptor", set(&Call::new_xyz_desc, Descriptor()),
       "new_xyz has data type INVALID, expected FLOAT or HALF"},
      {"half new_xyz", set(&Call::new_xyz_desc, Descriptor(kHalf, {2, 50, 3})),
       "xyz has data type FLOAT, expected HALF"},
      {"half xyz", set(&Call::xyz_desc, Descriptor(kHalf, {2, 90, 3})), "xyz has data type HALF, expected FLOAT"},
      {"long idx", set(&Call::idx_desc, Descriptor(MLUOP_DTYPE_INT64, {2, 50, 4})),
       "idx has data type INT64, expected INT32"},
      {"new_xyz dims", set(&Call::new_xyz_desc, Descriptor(kFloat, {2, 50, 3, 1})),
       "new_xyz has 4 dimensions, expected 3"},
      {"xyz dims", set(&Call::xyz_desc, Descriptor(kFloat, {2, 270})), "xyz has 2 dimensions, expected 3"},
      {"idx dims", set(&Call::idx_desc, Descriptor(kInt, {400})), "idx has 1 dimensions, expected 3"},
      {"two coordinates", set(&Call::new_xyz_desc, Descriptor(kFloat, {2, 50, 2})),
       "new_xyz dim 2 is 2, expected 3"},
      {"four coordinates", set(&Call::xyz_desc, Descriptor(kFloat, {2, 90, 4})), "xyz dim 2 is 4, expected 3"},
      {"xyz batch", set(&Call::xyz_desc, Descriptor(kFloat, {3, 90, 3})), "xyz dim 0 is 3, expected 2"},
      {"idx batch", set(&Call::idx_desc, Descriptor(kInt, {1, 50, 4})), "idx dim 0 is 1, expected 2"},
      {"idx centers", set(&Call::idx_desc, Descriptor(kInt, {2, 49, 4})), "idx dim 1 is 49, expected 50"},
      {"idx samples", set(&Call::idx_desc, Descriptor(kInt, {2, 50, 5})),
       "idx dim 2 is 5, expected nsample, which is 4"},
      {"no samples in idx", set(&Call::idx_desc, Descriptor(kInt, {2, 50, 0})),
       "idx dim 2 is 0, expected nsample, which is 4"},
      {"new_xyz strides", set(&Call::new_xyz_desc, Descriptor::with_strides(kFloat, {2, 50, 3}, {150, 1, 50})),
       strides("new_xyz", "[150, 1, 50]", "[2, 50, 3]"), MLUOP_STATUS_NOT_SUPPORTED},
      {"xyz strides", set(&Call::xyz_desc, Descriptor::with_strides(kFloat, {2, 90, 3}, {0, 3, 1})),
       strides("xyz", "[0, 3, 1]", "[2, 90, 3]"), MLUOP_STATUS_NOT_SUPPORTED},
      {"idx strides", set(&Call::idx_desc, Descriptor::with_strides(kInt, {2, 50, 4}, {201, 4, 1})),
       strides("idx", "[201, 4, 1]", "[2, 50, 4]"), MLUOP_STATUS_NOT_SUPPORTED},
      {"no batch",
       set_all(set(&Call::new_xyz_desc, Descriptor(kFloat, {0, 50, 3})),
               set(&Call::xyz_desc, Descriptor(kFloat, {0, 90, 3})),
               set(&Call::idx_desc, Descriptor(kInt, {0, 50, 4}))),
       "new_xyz dim 0 is 0, expected at least 1"},
      {"no centers",
       set_all(set(&Call::new_xyz_desc, Descriptor(kFloat, {2, 0, 3})),
               set(&Call::idx_desc, Descriptor(kInt, {2, 0, 4}))),
       "new_xyz dim 1 is 0, expected at least 1"},
  };
  expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
}

TEST(OpsBallQueryErrors, Scalars) {
  const Table::Rows rows = {
      {"negative min_radius", set(&Call::min_radius, -0.5F), "min_radius is -0.5, expected at least 0"},
      {"negative max_radius", set(&Call::max_radius, -1.0F), "max_radius is -1, expected at least 0"},
      {"NaN min_radius", set(&Call::min_radius, kNan), "min_radius is nan, expected at least 0"},
      {"NaN max_radius", set(&Call::max_radius, kNan), "max_radius is nan, expected at least 0"},
      {"negative nsample", set(&Call::nsample, -1), "nsample is -1, expected at least 0"},
      {"other nsample", set(&Call::nsample, 3), "idx dim 2 is 4, expected nsample, which is 3"},
  };
  expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
}

TEST(OpsBallQueryErrors, Data) {
  const std::string own = ", expected memory of its own";
  const Table::Rows rows = {
      {"null new_xyz", set(&Call::new_xyz, nullptr), "new_xyz is null, expected the data of a tensor [2, 50, 3]"},
      {"null xyz", set(&Call::xyz, nullptr), "xyz is null, expected the data of a tensor [2, 90, 3]"},
      {"null idx", set(&Call::idx, nullptr), "idx is null, expected the data of a tensor [2, 50, 4]"},
      {"idx in new_xyz", [](auto& c) { c.new_xyz = c.idx_buffer.data(); }, "idx overlaps new_xyz" + own},
      {"idx ends in xyz", [](auto& c) { c.xyz = c.idx_buffer.data() + 399; }, "idx overlaps xyz" + own},
  };
  expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
}

TEST(OpsBallQueryErrors, ManyPoints) {
  const Table::Rows rows = {{"2^31 points", set(&Call::xyz_desc, Descriptor(kFloat, {2, int64_t{1} << 31, 3})),
                             "xyz dim 1 is 2147483648, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED}};
  expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
}

// The operator runs on every device.
TEST(OpsBallQueryErrors, Devices) {
  for (const char* name : {"mlu270", "mlu290", "mlu370", "mlu590"}) {
    const ScopedEnvironment device("MLUOP_OMP_DEVICE", name);
    const Handle handle;
    const Call call(handle, valid_inputs());
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  }
}

TEST(OpsBallQueryErrors, AnyLayout) {
  const Handle handle;
  Call call(handle, valid_inputs());
  const Descriptor new_xyz(kFloat, {2, 50, 3}, MLUOP_LAYOUT_NLC), xyz(kFloat, {2, 90, 3}, MLUOP_LAYOUT_NTC),
      idx(kInt, {2, 50, 4}, MLUOP_LAYOUT_NCHW);
  call.new_xyz_desc = new_xyz;
  call.xyz_desc = xyz;
  call.idx_desc = idx;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

// Without points or samples the call reads nothing and leaves idx unchanged.
TEST(OpsBallQueryErrors, NothingToDo) {
  for (const BallQueryProblem& problem : {BallQueryProblem{2, 50, 0, 4, 0, 1}, {2, 50, 90, 0, 0, 1}}) {
    const Handle handle;
    const auto inputs = valid_inputs(problem);
    Call call(handle, inputs);
    call.new_xyz = call.xyz = nullptr;
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    for (const int32_t index : call.result()) EXPECT_EQ(index, kNoMember);
    call.max_radius = -1;
    EXPECT_EQ(call.run(), MLUOP_STATUS_BAD_PARAM);
  }
}

// Inputs may overlap: the centers are usually some of the points.
TEST(OpsBallQueryErrors, CentersInPoints) {
  const Handle handle;
  auto inputs = valid_inputs({1, 90, 90, 4, 0, 0.5F});
  inputs.new_xyz = inputs.xyz;
  Call call(handle, inputs);
  call.new_xyz = call.xyz;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(call.result() == ball_query_reference(inputs));
}

}  // namespace
}  // namespace mluop::test
