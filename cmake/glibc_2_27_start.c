// Starts mluop_case by the function of the first release of glibc, as cmake/glibc_2_27.c does for other functions.
// Until glibc 2.34, glibc calls a function of the program, which calls its constructors; newer releases call this
// function, too, if the program has one.
#include <stddef.h>

#include "glibc_2_27.h"

typedef int Main(int, char**, char**);
typedef void Constructor(int, char**, char**);
typedef void Function(void);

__asm__(".symver first_start_main,__libc_start_main@" FIRST);
extern int first_start_main(Main*, int, char**, Constructor* init, Function* fini, Function* end_loader,
                            void* stack);

// The linker defines these names, and crti.o the function.
__attribute__((visibility("hidden"))) extern Constructor* __init_array_start[];
__attribute__((visibility("hidden"))) extern Constructor* __init_array_end[];
__attribute__((visibility("hidden"))) extern void _init(void);

static void run_constructors(int argc, char** argv, char** environment) {
  _init();
  for (Constructor** each = __init_array_start; each != __init_array_end; ++each) (*each)(argc, argv, environment);
}

// Destructors are called by the dynamic linker.
int __libc_start_main(Main* main, int argc, char** argv, Constructor* init, Function* fini, Function* end_loader,
                      void* stack) {
  (void)init, (void)fini;
  return first_start_main(main, argc, argv, run_constructors, NULL, end_loader, stack);
}
