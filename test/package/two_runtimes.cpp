// A program on one OpenMP runtime loads the library, which was built for another. Arguments: the library, and
// optionally DEEPBIND: the library then prefers the functions of its own runtime. Teams of program and library
// alternate, and one runs inside the other. Prints the number of tasks and threads of a launch, and exits with 0
// if all results equal the results of serial loops.
#include <omp.h>

#include <cstring>

#include "loaded_library.h"

// A team of the program.
static bool sums_in_a_team() {
  int sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
  for (int i = 0; i < 1000; ++i) sum += i;
  return sum == 499500;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool deep = argc > 2 && std::strcmp(argv[2], "DEEPBIND") == 0;
  if (!sums_in_a_team()) return 3;
  load(argv[1], deep ? RTLD_DEEPBIND : 0);
  if (library == nullptr) return 4;
  omp_set_num_threads(2);
  pool(MLUOP_OMP_ALGORITHM_DEVICE, true);
  for (int round = 0; round < 5; ++round) {
    pool(MLUOP_OMP_ALGORITHM_NATIVE, false);
    pool(MLUOP_OMP_ALGORITHM_DEVICE, false);
    if (!sums_in_a_team()) ++failures;
  }
#pragma omp parallel num_threads(2)
  {
    pool(MLUOP_OMP_ALGORITHM_NATIVE, false);
    pool(MLUOP_OMP_ALGORITHM_DEVICE, false);
  }
  std::printf("%d failures\n", failures.load());
  return failures == 0 ? 0 : 1;
}
