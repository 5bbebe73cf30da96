#include "core/fixed_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mluop::test {
namespace {

TEST(CoreFixedList, ElementsUpToItsCapacity) {
  FixedList<int, 2> list;
  EXPECT_TRUE(list.elements().empty());
  list.push_back(7);
  list.push_back(-1);
  EXPECT_THAT(list.elements(), ::testing::ElementsAre(7, -1));
  EXPECT_THROW(list.push_back(3), std::length_error);
  EXPECT_THAT(list.elements(), ::testing::ElementsAre(7, -1));
}

}  // namespace
}  // namespace mluop::test
