# Warnings of the project's own targets, in one place.
add_library(mluop_omp_warnings INTERFACE)
target_compile_options(mluop_omp_warnings INTERFACE
  -Wall -Wextra -Wpedantic
  -Wcast-align -Wconversion -Wnon-virtual-dtor -Wno-sign-conversion -Wold-style-cast -Woverloaded-virtual -Wshadow
  # Casts that GCC finds in its own AVX-512 intrinsics, and Highway in its wrappers, are not ours.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-psabi>)
