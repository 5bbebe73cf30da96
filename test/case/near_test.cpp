// Names that resemble a misspelled one.
#include "case/near.h"

#include <gtest/gtest.h>

#include <vector>

namespace mluop::cases {
namespace {

TEST(CaseNear, NamesThatAreMeant) {
  const std::vector<std::string> names = {"ball_query", "stack_ball_query", "knn",
                                          "nms",        "nms_rotated",      "soft_nms"};
  const std::pair<const char*, const char*> rows[] = {
      {"ballquery", "; did you mean ball_query or stack_ball_query?"},
      {"Ball-Query", "; did you mean ball_query or stack_ball_query?"},
      {"bal_qerry", "; did you mean ball_query?"},
      {"knm", "; did you mean knn?"},
      {"querry", "; did you mean ball_query or stack_ball_query?"},
      {"nms_rotate", "; did you mean nms_rotated?"},
      {"nms", "; did you mean nms, nms_rotated or soft_nms?"},
      {"nothing", ""},
      {"", ""},
      {"_", ""},
  };
  for (const auto& [word, expected] : rows) EXPECT_EQ(did_you_mean(word, names), expected) << word;
}

}  // namespace
}  // namespace mluop::cases
