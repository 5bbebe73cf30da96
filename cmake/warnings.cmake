# The warnings of all targets of the project.
add_library(mluop_omp_warnings INTERFACE)
target_compile_options(mluop_omp_warnings INTERFACE
  -Wall -Wextra -Wpedantic
  -Wcast-align -Wconversion -Wnon-virtual-dtor -Wno-sign-conversion -Wold-style-cast -Woverloaded-virtual -Wshadow
  # GCC notes the ABI of the vectors that Highway's functions take and return; GCC 14 warns of a reference to static
  # data if the function that returns it takes a temporary.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-psabi> $<$<CXX_COMPILER_ID:GNU>:-Wno-dangling-reference>)
