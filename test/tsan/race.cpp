// Launches a team whose tasks write memory. Argument "ordered": each task writes its element, which the caller
// reads after the launch; "store" and "memset": all tasks write the same elements, a race that ThreadSanitizer
// must report.
#include <cstdio>
#include <cstring>
#include <string>

#include "support/team_context.h"
#include "team/launch.h"

namespace {

constexpr int kTasks = 4;

struct Args {
  bool same_elements;
  bool calls_memset;
  int* elements;  // [kTasks][16]
};

void write(const Args& args, int64_t begin, int64_t end, mluop::Task& task) {
  int* const own = args.elements + (args.same_elements ? 0 : 16 * task.taskId);
  for (int64_t item = begin; item < end; ++item) {
    if (args.calls_memset) {
      std::memset(own, static_cast<int>(item & 1), 16 * sizeof(int));
    } else {
      own[item % 16] += 1;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  mluop::test::TeamContext context(kTasks);
  int elements[kTasks * 16] = {};
  for (int round = 0; round < 10; ++round) {
    mluop::launch(context, "write", kTasks, mluop::Evenly{4000}, write,
                  Args{mode != "ordered", mode == "memset" || (mode == "ordered" && round % 2 == 1), elements});
    for (const int element : elements) std::printf("%d ", element);
  }
  std::printf("\n%s: done\n", mode.c_str());
}
