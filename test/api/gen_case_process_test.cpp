// The recording of calls that fail, of recordings that fail, and of several threads and processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "api/recording_test.h"
#include "support/child_process.h"
#include "support/fault_points.h"
#include "support/solved_case.h"

namespace mluop::test {
namespace {

namespace fs = std::filesystem;

class ApiGenCaseProcess : public RecordingTest {
 protected:
  // Restores the log level, which is global.
  ~ApiGenCaseProcess() override { Handle(); }

  size_t case_count() const { return case_files(folder()).size(); }
  bool solves(mluOpHandle_t handle) const { return sums.solved_by(handle); }

  SolvedCase sums =
      solve(make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT, {{"num_points", 5000}, {"num_channels", 20}}));
};

// Before the recording starts, and after it.
TEST_F(ApiGenCaseProcess, FailingCalls) {
  const Handle handle;
  const ScopedEnvironment files("MLUOP_GEN_CASE_DUMP_DATA_FILE", "1");
  require(mluOpUpdateContextInformation(handle));
  OperatorCall no_data(handle, sums.made);
  no_data["geom_xyz"].data = nullptr;
  EXPECT_EQ(no_data.run(), MLUOP_STATUS_BAD_PARAM);
  const OperatorCall interpolation(handle, make_case("three_interpolate_forward", MLUOP_DTYPE_FLOAT, {{"m", 50}}));
  interpolation["indices"].as<int32_t>()[7] = 50;
  EXPECT_EQ(interpolation.run(), MLUOP_STATUS_BAD_PARAM);
  EXPECT_THAT(files_below(folder()), ::testing::IsEmpty());
  // The handle records the next call.
  EXPECT_TRUE(solves(handle));
  EXPECT_EQ(case_count(), 1U);
}

// The directory cannot be created: each handle logs one line.
TEST_F(ApiGenCaseProcess, UnwritableDirectory) {
  std::ofstream(folder()) << "a file";
  const ScopedEnvironment log("MLUOP_LOG_LEVEL", "error");
  for (int handles = 0; handles < 2; ++handles) {
    const Handle handle;
    ::testing::internal::CaptureStderr();
    for (int calls = 0; calls < 3; ++calls) EXPECT_TRUE(solves(handle));
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::MatchesRegex("[0-9: .-]+ mluop-omp error MLUOP_GEN_CASE: [^\n]*" +
                                        folder().filename().string() + "[^\n]*\n"));
  }
}

// As if the disk were full: a file cannot have more bytes than a part of the case or of a raw file.
TEST_F(ApiGenCaseProcess, FullDisk) {
  constexpr struct { const char *mode, *files; } kTable[] = {{"1", "0"}, {"2", "0"}, {"2", "1"}};
  for (const auto& row : kTable) {
    const ScopedEnvironment mode("MLUOP_GEN_CASE", row.mode), files("MLUOP_GEN_CASE_DUMP_DATA_FILE", row.files);
    for (const rlim_t limit : {0, 100, 5000, 200000}) {
      if (*row.mode == '1' && limit > 100) continue;  // the case is smaller
      SCOPED_TRACE(limit);
      EXPECT_EQ(exit_status_of_child([&] {
                  signal(SIGXFSZ, SIG_IGN);
                  set_limit(RLIMIT_FSIZE, limit);
                  const Handle handle;
                  return solves(handle) && solves(handle) && files_below(folder()).empty();
                }),
                0);
    }
  }
}

// A call that ends the process leaves its recorded inputs; here its output cannot be written.
TEST_F(ApiGenCaseProcess, EndOfTheProcess) {
  EXPECT_NE(exit_status_of_child([&] {
              const Handle handle;
              OperatorCall call(handle, sums.made);
              cases::Operand& output = call["output_features"];
              const auto bytes = static_cast<size_t>(output.bytes());
              output.data =
                  static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
              if (std::freopen("/dev/null", "w", stderr) == nullptr) return true;  // reports of sanitizers
              return call.run() == MLUOP_STATUS_SUCCESS;
            }),
            0);
  // The unfinished case and the raw file of input_features.
  const std::vector<fs::path> files = files_below(folder());
  ASSERT_EQ(files.size(), 2U);
  EXPECT_TRUE(bytes_of(files[1]) == sums.made.inputs[1].elements.bytes);
  EXPECT_EQ(files[0].extension(), ".tmp");
  const std::string inputs = text_of_recording(files[0]), all = record(sums.made);
  EXPECT_TRUE(all.starts_with(inputs));
  EXPECT_TRUE(all.substr(inputs.size()).starts_with(" output {"));
}

// One handle for each thread, and one handle for all threads.
TEST_F(ApiGenCaseProcess, Threads) {
  constexpr int kHostThreads = 8, kCalls = 5;
  const std::string text = record(sums.made);
  const Handle shared;
  for (const bool is_shared : {false, true}) {
    fs::remove_all(folder());
    std::vector<std::thread> threads;
    std::vector<int> solved(kHostThreads);
    for (int& count : solved) {
      threads.emplace_back([&] {
        const Handle own;
        for (int calls = 0; calls < kCalls; ++calls) count += solves(is_shared ? shared : own) ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(solved, ::testing::Each(kCalls));
    const std::vector<fs::path> files = case_files(folder());
    EXPECT_EQ(files.size(), size_t{kHostThreads * kCalls});
    for (const fs::path& file : files) EXPECT_TRUE(text_of_recording(file) == text) << file;
    // No unfinished files and no raw files of other cases are left. input_features has more than 65536 elements.
    const std::vector<fs::path> all = files_below(folder());
    EXPECT_EQ(std::ranges::count(all, ".bin", &fs::path::extension), std::ssize(files));
    EXPECT_EQ(all.size(), 2 * files.size());
  }
}

// In child processes: the mode of mluOpSetGenCaseMode holds until their end, for handles that exist, updated and
// new.
TEST_F(ApiGenCaseProcess, SetGenCaseMode) {
  const struct {
    const char* variable;
    int mode;
    size_t cases;
    bool has_elements = false;
  } kTable[] = {
      {"2", 0, 0},
      {"2", 1, 3},
      {nullptr, 2, 3, true},
      // Other numbers switch the recording off.
      {"2", -1, 0},
      {"2", 4, 0},
      {"2", 100, 0},
      {"2", std::numeric_limits<int>::min(), 0},
      {"2", std::numeric_limits<int>::max(), 0},
  };
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.mode);
    fs::remove_all(folder());
    const auto variable = set_mode(row.variable);
    EXPECT_EQ(exit_status_of_child([&] {
                const Handle handle;
                mluOpSetGenCaseMode(row.mode);
                return solves(handle) && mluOpUpdateContextInformation(handle) == MLUOP_STATUS_SUCCESS &&
                       solves(handle) && solves(Handle());
              }),
              0);
    EXPECT_EQ(case_count(), row.cases);
    for (const fs::path& file : case_files(folder())) {
      EXPECT_EQ(text_of_recording(file).find("value_i") != std::string::npos, row.has_elements);
    }
  }
}

// In child processes: the directory of mluOpSetGenCaseDirectory holds for all handles, and "" is the working
// directory.
TEST_F(ApiGenCaseProcess, SetGenCaseDirectory) {
  const fs::path other = folder() / "other";
  EXPECT_EQ(exit_status_of_child([&] {
              const Handle handle;
              const bool recorded =
                  mluOpSetGenCaseDirectory((other / "{deviceid}").c_str()) == MLUOP_STATUS_SUCCESS &&
                  solves(handle) && solves(Handle());
              char path[1000];
              mluOpStatus_t status = MLUOP_STATUS_INTERNAL_ERROR;
              mluOpGetGenCaseDirectory(path, sizeof path, nullptr, &status);
              return recorded && status == MLUOP_STATUS_SUCCESS && path == other / "deviceid0";
            }),
            0);
  EXPECT_EQ(case_files(other / "deviceid0" / "gen_case").size(), 2U);
  EXPECT_EQ(case_count(), 2U);
  EXPECT_EQ(exit_status_of_child([&] {
              fs::create_directories(other / "working");
              fs::current_path(other / "working");
              return mluOpSetGenCaseDirectory("") == MLUOP_STATUS_SUCCESS && solves(Handle());
            }),
            0);
  EXPECT_EQ(case_files(other / "working" / "gen_case").size(), 1U);
}

// In a child process: a failing mluOpSetGenCaseDirectory changes nothing.
TEST_F(ApiGenCaseProcess, SetGenCaseDirectoryWithoutMemory) {
  if (!FailingAllocation::kSupported) GTEST_SKIP() << "the sanitizer defines operator new";
  EXPECT_EQ(exit_status_of_child([&] {
              const auto [status, triggered] = run_with_fault(
                  1, [] { return mluOpSetGenCaseDirectory("a directory that no test writes, with a long name"); });
              return status == MLUOP_STATUS_ALLOC_FAILED && triggered && solves(Handle()) && case_count() == 1;
            }),
            0);
}

// In a child process: without a working directory its path cannot be returned.
TEST_F(ApiGenCaseProcess, NoWorkingDirectory) {
  const ScopedEnvironment directory("MLUOP_GEN_CASE_DIR", nullptr);
  EXPECT_EQ(exit_status_of_child([&] {
              const fs::path gone = folder() / "gone";
              fs::create_directories(gone);
              fs::current_path(gone);
              fs::remove(gone);
              size_t length = 7;
              auto status = MLUOP_STATUS_SUCCESS;
              return mluOpGetGenCaseDirectory(nullptr, 0, &length, &status) == nullptr && length == 0 &&
                     status == MLUOP_STATUS_INTERNAL_ERROR;
            }),
            0);
}

// Parent and child record; an environment without MLUOP_GEN_CASE ends the recording.
TEST_F(ApiGenCaseProcess, ForkAndUpdate) {
  const Handle inherited;
  ASSERT_TRUE(solves(inherited));
  EXPECT_EQ(exit_status_of_child([&] { return solves(inherited) && solves(Handle()) && case_count() == 3; }), 0);
  EXPECT_TRUE(solves(inherited));
  EXPECT_EQ(case_count(), 4U);
  const auto off = set_mode(nullptr);
  require(mluOpUpdateContextInformation(inherited));
  EXPECT_TRUE(solves(inherited));
  EXPECT_EQ(case_count(), 4U);
}

// The call fails with ALLOC_FAILED, or succeeds; then its case is complete or absent.
TEST_F(ApiGenCaseProcess, AllocationFailures) {
  if (!FailingAllocation::kSupported) GTEST_SKIP() << "the sanitizer defines operator new";
  const std::string text = record(sums.made);
  for (const char* mode : {"2", "3"}) {
    const ScopedEnvironment variable("MLUOP_GEN_CASE", mode);
    const ScopedEnvironment log("MLUOP_LOG_LEVEL", "info");
    size_t lost = 0;
    ::testing::internal::CaptureStderr();
    for_each_fault_point([&](int64_t n) {
      SCOPED_TRACE(n);
      fs::remove_all(folder());
      const Handle handle;
      const OperatorCall call(handle, sums.made);
      const auto [status, triggered] = run_with_fault(n, [&] { return call.run(); });
      if (status == MLUOP_STATUS_SUCCESS) {
        EXPECT_TRUE(call.outputs() == sums.outputs);
        lost += case_count() == 0 ? 1 : 0;
      } else {
        EXPECT_TRUE(triggered);
        EXPECT_EQ(status, MLUOP_STATUS_ALLOC_FAILED);
      }
      const size_t files = files_below(folder()).size();
      // The case and the file of input_features.
      EXPECT_TRUE(files == 0 || (status == MLUOP_STATUS_SUCCESS && files == 2)) << files;
      if (files == 2) {
        EXPECT_TRUE(text_of_recording(case_files(folder()).at(0)) == text);
      }
      return triggered;
    });
    ::testing::internal::GetCapturedStderr();
    EXPECT_GT(lost, 0U);
  }
}

TEST_F(ApiGenCaseProcess, TheFileIsLoggedAtInfo) {
  const ScopedEnvironment log("MLUOP_LOG_LEVEL", "info");
  ::testing::internal::CaptureStderr();
  record(sums.made);
  EXPECT_THAT(
      ::testing::internal::GetCapturedStderr(),
      ::testing::HasSubstr("info [mluOpVoxelPoolingForward] recorded in " + case_files(folder()).at(0).string()));
}

}  // namespace
}  // namespace mluop::test
