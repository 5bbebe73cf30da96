// Unique rows and the union of rows: examples of the definitions, rows of any int32, in any number of columns.
// test/ops/contract_test.cpp has the tests of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using cases::Case;
using ::testing::ElementsAre;

Case unique_case(int64_t columns, bool ascending, const std::vector<int32_t>& rows) {
  Case made = make_case(
      "unique_rows", MLUOP_DTYPE_INT32,
      {{"n", static_cast<int64_t>(rows.size()) / columns}, {"c", columns}, {"ascending", ascending ? 1 : 0}});
  set_values(made, "rows", rows);
  return made;
}

Case union_case(int64_t columns, const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  Case made = make_case("union_rows", MLUOP_DTYPE_INT32,
                        {{"n", static_cast<int64_t>(a.size()) / columns},
                         {"m", static_cast<int64_t>(b.size()) / columns},
                         {"c", columns}});
  set_values(made, "a", a);
  set_values(made, "b", b);
  return made;
}

TEST(OpsUniqueRows, WorkedExample) {
  const std::vector<int32_t> rows = {0, 2, 0, -1, 0, 2, 0, -1, -1, 7};
  const Handle handle;
  const OperatorCall by_occurrence(handle, unique_case(2, false, rows));
  ASSERT_EQ(by_occurrence.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_THAT(by_occurrence.int32s("first"), ElementsAre(0, 1, 4, -1, -1));
  EXPECT_THAT(by_occurrence.int32s("inverse"), ElementsAre(0, 1, 0, 1, 2));
  EXPECT_THAT(by_occurrence.int32s("num"), ElementsAre(3));
  const OperatorCall ascending(handle, unique_case(2, true, rows));
  ASSERT_EQ(ascending.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_THAT(ascending.int32s("first"), ElementsAre(4, 1, 0, -1, -1));
  EXPECT_THAT(ascending.int32s("inverse"), ElementsAre(2, 1, 2, 1, 0));
  EXPECT_THAT(ascending.int32s("num"), ElementsAre(3));
}

TEST(OpsUnionRows, WorkedExample) {
  const Handle handle;
  const OperatorCall call(handle, union_case(2, {0, 5, 0, -3, 0, 5}, {1, 1, 0, -3, 1, 1, -1, 0}));
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_THAT(call.int32s("rows"), ElementsAre(0, 5, 0, -3, 1, 1, -1, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(call.int32s("index_a"), ElementsAre(0, 1, 0));
  EXPECT_THAT(call.int32s("index_b"), ElementsAre(2, 1, 2, 3));
  EXPECT_THAT(call.int32s("num"), ElementsAre(4));
}

// Kinds of numbers: few, so that rows are repeated; the ends of int32, where the ranges of two columns do not fit
// one key; one number.
std::vector<int32_t> draw_rows(int64_t count, int64_t columns, int kind, std::mt19937& random) {
  constexpr int32_t kEnds[] = {INT32_MIN, INT32_MIN + 1, -1, 0, INT32_MAX - 1, INT32_MAX};
  std::vector<int32_t> rows;
  for (int64_t i = 0; i < count * columns; ++i) {
    const auto drawn = static_cast<int32_t>(random() % 6);
    rows.push_back(kind == 0 ? drawn % 3 - 1 : kind == 1 ? kEnds[drawn] : -7);
  }
  return rows;
}

TEST(OpsUniqueRows, AnyColumnsAndNumbers) {
  std::mt19937 random = seeded_random();
  for (int64_t columns = 1; columns <= 8; ++columns) {
    for (const int kind : {0, 1, 2}) {
      for (const int64_t count : {1, 2, 65, 700}) {
        SCOPED_TRACE(::testing::Message() << columns << " columns, kind " << kind << ", " << count << " rows");
        const ScopedThreads threads(static_cast<int>(count % 4 + 1));
        const std::vector<int32_t> rows = draw_rows(count, columns, kind, random);
        expect_oracle(unique_case(columns, false, rows));
        expect_oracle(unique_case(columns, true, rows));
        expect_oracle(union_case(columns, rows, draw_rows(count / 2, columns, kind, random)));
        expect_oracle(union_case(columns, {}, rows));
      }
    }
  }
}

// Parts of the tasks begin within runs of equal rows.
TEST(OpsUniqueRows, LongRunsOfEqualRows) {
  MLUOP_LABELS(kOnce);
  std::vector<int32_t> rows;
  for (int32_t i = 0; i < 60000; ++i) rows.insert(rows.end(), {0, i < 50000 ? -4 : i % 5});
  for (const bool ascending : {false, true}) expect_oracle_everywhere(unique_case(2, ascending, rows));
  for (size_t i = 0; i < rows.size(); i += 2) rows[i] = i % 4 == 0 ? INT32_MIN : INT32_MAX;
  for (const bool ascending : {false, true}) expect_oracle_everywhere(unique_case(2, ascending, rows));
}

}  // namespace
}  // namespace mluop::test
