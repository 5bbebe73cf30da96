// Device profiles, and the configuration of a context from the environment.
#include "team/device_profile.h"

#include <gtest/gtest.h>

#include <string>

#include "core/boundary.h"
#include "support/environment.h"
#include "team/context.h"

namespace mluop::test {
namespace {

struct Expected {
  const char* name;
  bool is_200_series;
  size_t nram_kib;
};

constexpr Expected kExpected[] = {
    {"mlu270", true, 384},
    {"mlu290", true, 384},
    {"mlu370", false, 640},
    {"mlu590", false, 384},
};

TEST(TeamDeviceProfile, Table) {
  EXPECT_EQ(std::size(kDeviceProfiles), std::size(kExpected));
  for (const Expected& expected : kExpected) {
    const auto found = find_device(expected.name);
    ASSERT_TRUE(found) << expected.name;
    EXPECT_EQ(found->name, expected.name);
    EXPECT_EQ(found->is_200_series, expected.is_200_series) << expected.name;
    EXPECT_EQ(found->nram_kib, expected.nram_kib) << expected.name;
  }
  EXPECT_EQ(kDefaultDevice.name, "mlu370");
}

TEST(TeamDeviceProfile, UnknownNames) {
  for (const char* name : {"", "mlu", "mlu37", "mlu3700", "MLU370", " mlu370", "370"}) {
    EXPECT_FALSE(find_device(name)) << name;
  }
}

TEST(TeamContext, ReadsDeviceAndNramFromTheEnvironment) {
  for (const Expected& expected : kExpected) {
    const ScopedEnvironment device("MLUOP_OMP_DEVICE", expected.name);
    const ScopedEnvironment none("MLUOP_OMP_NRAM_KB", nullptr);
    Context context;
    context.configure();
    EXPECT_EQ(context.device.name, expected.name);
    EXPECT_EQ(context.nram_capacity, expected.nram_kib * 1024);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "5");
    context.configure();
    EXPECT_EQ(context.device.name, expected.name);
    EXPECT_EQ(context.nram_capacity, size_t{5} * 1024);
  }
}

// If a variable is invalid, no setting changes.
TEST(TeamContext, KeepsItsSettingsWhenAVariableIsInvalid) {
  Context context;
  context.configure();
  const ScopedEnvironment device("MLUOP_OMP_DEVICE", "mlu590");
  for (const char* kib : {"0", "-1", "1048577", "64k", " 64", "6.4", "99999999999999999999"}) {
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    EXPECT_THROW(context.configure(), Failure) << kib;
    EXPECT_EQ(context.device.name, "mlu370");
    EXPECT_EQ(context.nram_capacity, size_t{640} * 1024);
  }
}

}  // namespace
}  // namespace mluop::test
