// Loads the library of the first argument, runs an operator on several threads and unloads the library, 100 times.
#include "loaded_library.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (int round = 0; round < 100; ++round) {
    load(argv[1], 0);
    if (library == nullptr) return 1;
    pool(MLUOP_OMP_ALGORITHM_NATIVE, false);
    pool(MLUOP_OMP_ALGORITHM_DEVICE, false);
    if (dlclose(library) != 0) ++failures;
  }
  std::printf("%d failures\n", failures.load());
  return failures == 0 ? 0 : 1;
}
