# MLUOP_OMP_INSTALL_MLUOPS_NAME: installs the library with its second name, links a program with -lmluops and runs it.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

set(build ${WORK_DIR}/build)
set(prefix ${WORK_DIR}/prefix)
file(REMOVE_RECURSE ${WORK_DIR})
configure(${PROJECT_DIR} ${build} -DMLUOP_OMP_INSTALL_MLUOPS_NAME=ON -DMLUOP_OMP_BUILD_TESTS=OFF
  -DMLUOP_OMP_BUILD_PERF=OFF -DMLUOP_OMP_BUILD_CASE=OFF -DCMAKE_INSTALL_LIBDIR=lib
  -DCMAKE_C_FLAGS=${C_FLAGS} -DCMAKE_CXX_FLAGS=${CXX_FLAGS})
# The library of the tested build is copied, so that no other build is needed.
cmake_path(GET LIBRARY PARENT_PATH directory)
file(GLOB libraries ${directory}/libmluop_omp.so*)
file(COPY ${libraries} DESTINATION ${build}/src)
run(ignored ${CMAKE_COMMAND} --install ${build} --prefix ${prefix})

file(READ_SYMLINK ${prefix}/lib/libmluops.so target)
if(NOT target STREQUAL "libmluop_omp.so")
  message(FATAL_ERROR "libmluops.so links to ${target}, expected libmluop_omp.so")
endif()

set(source ${WORK_DIR}/program.c)
file(WRITE ${source} [[
#include <mlu_op.h>
#include <stdio.h>

int main(void) {
  int major, minor, patch;
  mluOpGetLibVersion(&major, &minor, &patch);
  printf("%d\n", major * 1000 + minor * 100 + patch - MLUOP_VERSION);
  return 0;
}
]])
separate_arguments(flags UNIX_COMMAND "${C_FLAGS}")
run(ignored ${C_COMPILER} ${flags} ${source} -I${prefix}/include -L${prefix}/lib -lmluops
  -Wl,-rpath,${prefix}/lib -o ${WORK_DIR}/program)
run(printed ${WORK_DIR}/program)
if(NOT printed STREQUAL "0\n")
  message(FATAL_ERROR "the program printed \"${printed}\", expected 0")
endif()
