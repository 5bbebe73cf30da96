// Requirements of mluOpOmpGatherPointsForward and mluOpOmpGatherPointsBackward on their indices and shapes.
#include <gtest/gtest.h>

#include <climits>
#include <map>
#include <string>

#include "case/reduce.h"
#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test {
namespace {

struct GatherOperator {
  cases::Case make(const std::map<std::string, int64_t>& sizes) const {
    return cases::self_contained(make_case(op, MLUOP_DTYPE_HALF, sizes));
  }

  std::string op, features, points;  // the tensors of features and of points
};

const GatherOperator kGatherOperators[] = {{"gather_points_forward", "features", "output"},
                                           {"gather_points_backward", "grad_features", "grad_output"}};

// The message names the first index out of range, independent of the task that finds one first.
TEST(OpsGatherPointsErrors, IndicesOutOfRange) {
  MLUOP_LABELS(kNotEmulated);
  const auto put = [](size_t i, int32_t index) { return set_element("indices", i, index); };
  for (const GatherOperator& gather : kGatherOperators) {
    const cases::Case points = gather.make({{"b", 3}, {"c", 2}, {"n", 9}, {"m", 15000}});
    const cases::Case samples = gather.make({{"b", 3}, {"c", 2}, {"n", 9}, {"m", 5000}, {"samples", 3}});
    for (const int count : {1, 3, 64}) {
      SCOPED_TRACE(gather.op + ' ' + std::to_string(count));
      const ScopedThreads threads(count);
      expect_errors(points, {{put(0, 9), "indices[0, 0] is 9, expected 0 to 8"},
                             {put(15001, -1), "indices[1, 1] is -1, expected 0 to 8"},
                             {put(44999, INT_MIN), "indices[2, 14999] is -2147483648, expected 0 to 8"},
                             {put(4095, INT_MAX), "indices[0, 4095] is 2147483647, expected 0 to 8"},
                             {all_of({put(40000, 40000), put(30001, 30001), put(20002, 20002), put(44999, 44999)}),
                              "indices[1, 5002] is 20002, expected 0 to 8"}});
      expect_errors(samples, {{put(15004, -1), "indices[1, 1, 1] is -1, expected 0 to 8"},
                              {put(44999, 9), "indices[2, 4999, 2] is 9, expected 0 to 8"}});
    }
  }
}

TEST(OpsGatherPointsErrors, Shapes) {
  for (const GatherOperator& gather : kGatherOperators) {
    const auto of_points = [&](const cases::Dims& dims) { return set_shape(gather.points, dims); };
    expect_errors(gather.make({}),
                  {{of_points({2, 20, 50, 1}), gather.points + " has 4 dimensions, expected 3"},
                   {set_shape("indices", {2, 50, 1}), "indices has 3 dimensions, expected 2"},
                   {set_shape("indices", {2}), "indices has 1 dimensions, expected 2"},
                   {with_sizes(gather.op, {{"n", 0}}), gather.features + " dim 2 is 0, expected at least 1"}});
    const bool forward = gather.points == "output";
    expect_errors(gather.make({{"samples", 4}}),
                  {{of_points({2, 20, 50}), "indices has 3 dimensions, expected 2"},
                   {of_points({2, 20, 51, 4}),
                    forward ? "output dim 2 is 51, expected 50" : "indices dim 1 is 50, expected 51"},
                   {of_points({2, 20, 50, 3}),
                    forward ? "output dim 3 is 3, expected 4" : "indices dim 2 is 4, expected 3"}});
  }
}

// A call without outputs reads no data: pointers may be null, and indices may have any value.
TEST(OpsGatherPointsErrors, NothingToDo) {
  for (const GatherOperator& gather : kGatherOperators) {
    for (const std::map<std::string, int64_t>& sizes :
         {std::map<std::string, int64_t>{{"b", 0}}, {{"c", 0}}, {{"m", 0}, {"n", 0}}}) {
      const cases::Case made = gather.make(sizes);
      const Handle handle;
      OperatorCall call(handle, made);
      for (const char* id : {"indices", gather.features.c_str(), gather.points.c_str()}) call[id].data = nullptr;
      EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    }
  }
}

// The bytes of each tensor fit int64_t, the sum does not.
TEST(OpsGatherPointsErrors, BytesExceedInt64) {
  const auto output_far_away = [](OperatorCall& call) {
    call["output"].data = reinterpret_cast<std::byte*>(uintptr_t{1} << 63);
  };
  const auto sizes = with_sizes("gather_points_forward", {{"b", 1}, {"c", 3}, {"n", 9}, {"m", int64_t{1} << 60}},
                                MLUOP_DTYPE_HALF);
  expect_errors(kGatherOperators[0].make({}),
                {{all_of({sizes, output_far_away}), "the size in bytes of all tensors exceeds 2^63 - 1"}});
}

}  // namespace
}  // namespace mluop::test
