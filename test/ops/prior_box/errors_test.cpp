// Requirements of mluOpPriorBox on steps, sizes and ratios.
#include <gtest/gtest.h>

#include <string>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

TEST(OpsPriorBoxErrors, Numbers) {
  expect_errors(make_case("prior_box", MLUOP_DTYPE_FLOAT, {}),
                {{set_real("step_h", 0), "step_h is 0, expected a positive number"},
                 {set_real("step_w", -8), "step_w is -8, expected a positive number"},
                 {all_of({set_shape("min_sizes", {0}), set_shape("max_sizes", {0}),
                          set_shape("output", {5, 7, 0, 4}), set_shape("var", {5, 7, 0, 4})}),
                  "min_sizes dim 0 is 0, expected at least 1"},
                 {all_of({set_shape("aspect_ratios", {0}), set_shape("output", {5, 7, 2, 4}),
                          set_shape("var", {5, 7, 2, 4})}),
                  "aspect_ratios dim 0 is 0, expected at least 1"}});
}

TEST(OpsPriorBoxErrors, Ratios) {
  const char* const kRule = ", expected exactly one, because min_max_aspect_ratios_order is true";
  const auto ratios = [](double first, double second) {
    return all_of({set_element("aspect_ratios", 0, first), set_element("aspect_ratios", 1, second),
                   set_element("aspect_ratios", 2, 2)});
  };
  expect_errors(make_case("prior_box", MLUOP_DTYPE_FLOAT, {{"squares_first", 1}}),
                {{ratios(3, 1.00001), std::string("aspect_ratios has 0 ratios of 1") + kRule},
                 {ratios(1, 1.0000005), std::string("aspect_ratios has 2 ratios of 1") + kRule}});
}

}  // namespace
}  // namespace mluop::test
