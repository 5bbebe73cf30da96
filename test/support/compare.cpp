#include "support/compare.h"

#include <cmath>
#include <cstring>

namespace mluop::test {

bool same_bits(float a, float b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0 || (std::isnan(a) && std::isnan(b));
}

::testing::AssertionResult same_bits(const std::vector<float>& evaluated, const std::vector<float>& baseline) {
  if (evaluated.size() != baseline.size()) return ::testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < evaluated.size(); ++i) {
    if (!same_bits(evaluated[i], baseline[i])) {
      return ::testing::AssertionFailure()
             << "element " << i << " is " << evaluated[i] << ", expected " << baseline[i];
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace mluop::test
