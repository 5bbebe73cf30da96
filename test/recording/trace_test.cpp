// MLUOP_OMP_TRACE: after each call, the file is a complete JSON array of trace events.
#include "recording/trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/call_statistics.h"
#include "support/child_process.h"
#include "support/environment.h"
#include "support/fault_points.h"
#include "support/solved_case.h"
#include "support/temporary_folder.h"
#include "support/trace.h"
#include "support/trace_file.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using Json = nlohmann::json;
constexpr auto kDevice = MLUOP_OMP_ALGORITHM_DEVICE;

class RecordingTrace : public ::testing::Test {
 protected:
  // Restores the log level, which is global.
  ~RecordingTrace() override { Handle(); }

  void run(mluOpHandle_t handle) const { EXPECT_TRUE(sums.solved_by(handle)); }

  // Integers: their sums are exact in any order.
  SolvedCase sums = solve(
      with_values(make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT,
                            {{"num_points", 2001}, {"num_channels", 6}, {"num_voxel_x", 5}, {"num_voxel_y", 4}}),
                  Values::kIntegers, 1));

  const TemporaryFolder folder_;
  const std::string file_ = (folder_.path() / "trace").string();
};

// The events of a name, in the order of the file.
std::vector<Json> events_named(const Json& trace, const std::string& name) {
  std::vector<Json> events;
  for (const Json& event : trace) {
    if (event.at("name") == name) events.push_back(event);
  }
  return events;
}

// The first call of the process replaces a file of an earlier process. Handles share the file.
TEST_F(RecordingTrace, IsCompleteAfterEachCall) {
  std::ofstream(file_) << std::string(100000, 'x');
  const ScopedEnvironment trace("MLUOP_OMP_TRACE", file_.c_str());
  const Handle handles[] = {Handle(kAlgorithms[0]), Handle(kAlgorithms[1])};
  size_t events = 0;
  for (size_t calls = 1; calls <= 4; ++calls) {
    run(handles[calls % 2]);
    const Json written = read_trace(file_);
    ASSERT_TRUE(written.is_array());
    EXPECT_EQ(events_named(written, "mluOpVoxelPoolingForward").size(), calls);
    EXPECT_GT(written.size(), events);
    events = written.size();
  }
}

// Statistics, trace and debug line are lost if memory is exhausted. The call itself succeeds, or fails with
// ALLOC_FAILED.
TEST_F(RecordingTrace, AllocationFailures) {
  if (!FailingAllocation::kSupported) GTEST_SKIP() << "the sanitizer defines operator new";
  const ScopedEnvironment trace("MLUOP_OMP_TRACE", file_.c_str());
  int64_t successes = 0;
  for_each_fault_point([&](int64_t n) {
    SCOPED_TRACE(n);
    const Handle handle(kDevice);
    const OperatorCall call(handle, sums.made);
    const auto [status, triggered] = run_with_fault(n, [&] { return call.run(); });
    if (status == MLUOP_STATUS_SUCCESS) {
      successes += triggered ? 1 : 0;
      EXPECT_TRUE(call.outputs() == sums.outputs);
    } else {
      EXPECT_EQ(status, MLUOP_STATUS_ALLOC_FAILED);
    }
    return triggered;
  });
  EXPECT_GT(successes, 0);
  EXPECT_TRUE(read_trace(file_).is_array());
}

// The call, each launch and each task have a slice with the values of the statistics, inside the slice of the
// call.
TEST_F(RecordingTrace, EventsOfACall) {
  const ScopedEnvironment trace("MLUOP_OMP_TRACE", file_.c_str());
  const ScopedThreads threads(3);
  const Handle handle(kDevice);
  run(handle);
  const Json written = read_trace(file_);
  const auto launches = launches_of(handle);
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(written.size(), 1 + 2 * (1 + 3));
  const Json& call = written.at(0);
  const auto begin = [](const Json& event) { return event.at("ts").get<double>(); };
  const auto end = [&](const Json& event) { return begin(event) + event.at("dur").get<double>(); };
  constexpr double kRounding = 0.01;
  for (const Json& event : written) {
    EXPECT_EQ(event.at("ph"), "X");
    EXPECT_EQ(event.at("pid"), getpid());
    EXPECT_GE(event.at("ts"), 0.0);
    EXPECT_GE(event.at("dur"), 0.0);
    EXPECT_GE(begin(event), begin(call) - kRounding);
    EXPECT_LE(end(event), end(call) + kRounding);
  }
  EXPECT_EQ(call.at("name"), "mluOpVoxelPoolingForward");
  EXPECT_EQ(call.at("args").at("tensors"),
            "geom_xyz INT32 [2, 2001, 3] ARRAY, input_features FLOAT [2, 2001, 6] ARRAY, "
            "output_features FLOAT [2, 4, 5, 6] ARRAY, pos_memo INT32 [2, 2001, 3] ARRAY");
  const auto pool = events_named(written, "voxel_pooling_forward");
  ASSERT_EQ(pool.size(), 4U);
  EXPECT_EQ(pool[0].at("tid"), 0);
  EXPECT_EQ(pool[0].at("args").at("taskDim"), 3);
  EXPECT_EQ(pool[0].at("args").at("threads"), launches[1].threads);
  for (size_t id = 0; id < 3; ++id) {
    SCOPED_TRACE(id);
    const auto& task = launches[1].tasks[id];
    EXPECT_EQ(pool[id + 1].at("tid"), task.thread + 1);
    EXPECT_EQ(pool[id + 1].at("args"), (Json{{"taskId", id},
                                             {"first_item", task.first_item},
                                             {"items", task.item_count},
                                             {"tiles", task.tiles},
                                             {"bytes_loaded", task.bytes_loaded},
                                             {"bytes_stored", task.bytes_stored},
                                             {"atomics", task.atomics},
                                             {"atomic_elements", task.atomic_elements},
                                             {"contended", task.contended},
                                             {"nram_bytes", task.nram_bytes}}));
  }
}

// An environment with a trace enables the statistics; an environment without a trace writes no file.
TEST_F(RecordingTrace, UpdateStartsAndEndsTheTrace) {
  const Handle handle(kDevice);
  run(handle);
  EXPECT_FALSE(std::ifstream(file_).is_open());
  {
    const ScopedEnvironment trace("MLUOP_OMP_TRACE", file_.c_str());
    require(mluOpUpdateContextInformation(handle));
  }
  run(handle);
  EXPECT_FALSE(launches_of(handle).empty());
  const size_t events = read_trace(file_).size();
  require(mluOpUpdateContextInformation(handle));
  run(handle);
  EXPECT_EQ(read_trace(file_).size(), events);
}

// The child of a fork writes a separate file, the parent continues with its file. %p is the process ID; without %p
// the child appends its ID to the name.
TEST_F(RecordingTrace, ChildOfFork) {
  const ScopedThreads threads(3);
  for (const bool has_number : {false, true}) {
    const ScopedEnvironment trace("MLUOP_OMP_TRACE", (file_ + (has_number ? "%p-%p" : "")).c_str());
    const Handle handle(kDevice);
    const auto event_count = [&, parent = getpid()] {
      const std::string number = std::to_string(getpid());
      const std::string name = has_number ? file_ + number + '-' + number : file_ + '.' + number;
      return read_trace(getpid() == parent && !has_number ? file_ : name).size();
    };
    run(handle);
    const size_t events = event_count();
    EXPECT_GT(events, 0U);
    // With libomp, the child has the number of threads of its environment: its calls may have other numbers of
    // events.
    EXPECT_EQ(exit_status_of_child([&] {
                if (!sums.solved_by(handle)) return false;
                const size_t events_of_child = event_count();
                return events_of_child > 0 && sums.solved_by(handle) && event_count() == 2 * events_of_child;
              }),
              0);
    EXPECT_EQ(event_count(), events);
    run(handle);
    EXPECT_EQ(event_count(), 2 * events);
  }
}

// A call succeeds without its trace; the first such call logs an error.
TEST_F(RecordingTrace, UnwritableFile) {
  const std::string name = file_ + "/trace.json";
  const ScopedEnvironment trace("MLUOP_OMP_TRACE", name.c_str());
  const ScopedEnvironment log("MLUOP_LOG_LEVEL", "error");
  const Handle handle(kDevice);
  for (int calls = 0; calls < 2; ++calls) {
    ::testing::internal::CaptureStderr();
    run(handle);
    const std::string lines = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(lines.find("MLUOP_OMP_TRACE: cannot write " + name) != std::string::npos, calls == 0) << lines;
  }
}

}  // namespace
}  // namespace mluop::test
