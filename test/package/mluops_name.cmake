# MLUOP_OMP_INSTALL_MLUOPS_NAME and MLUOP_OMP_INSTALL_CNRT: installs libmluops.so.1 and libcnrt. Programs that are
# linked with a library of the same SONAME and version node, or compiled with the installed headers, run without a
# warning.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
include(${PROJECT_DIR}/cmake/symbols.cmake)

set(build ${WORK_DIR}/build)
set(prefix ${WORK_DIR}/prefix)
file(REMOVE_RECURSE ${WORK_DIR})
set(configure ${CMAKE_COMMAND} -S ${PROJECT_DIR} -B ${build} -G ${GENERATOR} -DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}
  -DCMAKE_BUILD_TYPE=${BUILD_TYPE} -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
  -DMLUOP_OMP_BUILD_TESTS=OFF -DMLUOP_OMP_BUILD_PERF=OFF -DMLUOP_OMP_BUILD_CASE=OFF -DCMAKE_INSTALL_LIBDIR=lib
  -DCMAKE_C_FLAGS=${C_FLAGS} -DCMAKE_CXX_FLAGS=${CXX_FLAGS}
  -DMLUOP_OMP_INSTALL_MLUOPS_NAME=ON -DMLUOP_OMP_INSTALL_CNRT=ON)

# What the options refuse: a static library, and the SDK, by its header or its library.
expect_failure("MLUOP_OMP_INSTALL_MLUOPS_NAME requires BUILD_SHARED_LIBS: libmluops.so.1 is a shared"
  ${configure} -DBUILD_SHARED_LIBS=OFF)
list(APPEND configure -DBUILD_SHARED_LIBS=ON)
foreach(file IN ITEMS include/cnrt.h lib64/libcnrt.so)
  set(sdk ${WORK_DIR}/sdk)
  file(WRITE ${sdk}/${file} "cnrt.h or libcnrt.so of another origin")
  expect_failure("MLUOP_OMP_INSTALL_CNRT=ON: found ${sdk}/${file} of the accelerator's SDK, expected none"
    ${CMAKE_COMMAND} -E env NEUWARE_HOME=${sdk} ${configure})
  file(REMOVE_RECURSE ${sdk})
endforeach()

# The libraries of the tested build are copied, so that no other build is needed.
run(ignored ${configure})
foreach(library IN ITEMS ${LIBRARY} ${MLUOPS})
  cmake_path(GET library PARENT_PATH directory)
  cmake_path(GET library STEM name)
  file(GLOB libraries ${directory}/${name}.so*)
  file(COPY ${libraries} DESTINATION ${build}/src)
endforeach()
file(COPY ${CNRT} DESTINATION ${build}/cnrt)
run(ignored ${CMAKE_COMMAND} --install ${build} --prefix ${prefix})
# An installed libcnrt is not the SDK.
run(ignored ${CMAKE_COMMAND} -E env CPATH=${prefix}/include LIBRARY_PATH=${prefix}/lib ${configure})

file(READ ${PROJECT_DIR}/include/mlu_op.h header)
foreach(part IN ITEMS MAJOR MINOR PATCHLEVEL)
  string(REGEX MATCH "#define MLUOP_${part} ([0-9]+)" ignored "${header}")
  list(APPEND parts ${CMAKE_MATCH_1})
endforeach()
list(JOIN parts "." mlu_ops_version)
list(GET parts 0 major)
set(library ${prefix}/lib/libmluops.so.${mlu_ops_version})
if(NOT EXISTS ${library} OR IS_SYMLINK ${library})
  message(FATAL_ERROR "${library} is not installed")
endif()
foreach(link IN ITEMS libmluops.so libmluops.so.${major})
  file(REAL_PATH ${prefix}/lib/${link} target)
  file(REAL_PATH ${library} expected)
  if(NOT target STREQUAL expected)
    message(FATAL_ERROR "${link} links to ${target}, expected ${expected}")
  endif()
endforeach()
foreach(name IN ITEMS mluops.so.${major} cnrt.so)
  run(dynamic ${READELF} -d ${prefix}/lib/lib${name})
  if(NOT dynamic MATCHES "SONAME[^\n]*\\[lib${name}\\]")
    message(FATAL_ERROR "lib${name} has another SONAME:\n${dynamic}")
  endif()
endforeach()

# Every function of the headers, and nothing else, in the node of MLU-OPS or, for functions of mlu_op_omp.h, in the
# node of this version.
string(REGEX MATCH "^[0-9]+\\.[0-9]+" abi_version ${VERSION})
mluop_declared_functions(declared ${PROJECT_DIR}/include)
set(expected "")
foreach(function IN LISTS declared)
  if(function MATCHES "^mluOpOmp")
    list(APPEND expected ${function}@@MLUOP_OMP_${abi_version})
  else()
    list(APPEND expected ${function}@@MLUOP_ABI_1.0)
  endif()
endforeach()
run(symbols ${NM} -D --defined-only --format=posix ${library})
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
list(TRANSFORM symbols REPLACE " .*" "")
list(REMOVE_ITEM symbols MLUOP_ABI_1.0 MLUOP_OMP_${abi_version})
foreach(symbol IN LISTS symbols)
  if(NOT symbol IN_LIST expected)
    message(SEND_ERROR "${library} exports ${symbol}")
  endif()
endforeach()
foreach(symbol IN LISTS expected)
  if(NOT symbol IN_LIST symbols)
    message(SEND_ERROR "${library} does not export ${symbol}")
  endif()
endforeach()

# The page lists every function of mlu_op.h.
file(READ ${PROJECT_DIR}/docs/mlu-ops.md page)
foreach(function IN LISTS declared)
  if(NOT function MATCHES "^mluOpOmp" AND NOT page MATCHES "`${function}`")
    message(SEND_ERROR "docs/mlu-ops.md does not list ${function}")
  endif()
endforeach()

# Runs ${WORK_DIR}/program with the libraries in `folder` and sets `output` to what it prints, warnings of the dynamic
# linker included.
function(run_with folder output)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${folder} LD_BIND_NOW=1 ${WORK_DIR}/program
    RESULT_VARIABLE status OUTPUT_VARIABLE printed ERROR_VARIABLE errors)
  set(${output} "${status}: ${printed}${errors}" PARENT_SCOPE)
endfunction()

# A program that is linked with another library of the SONAME and the node, as with MLU-OPS.
set(original ${WORK_DIR}/original)
file(WRITE ${original}/original.c [[
#include <mlu_op.h>

mluOpStatus_t MLUOP_WIN_API mluOpCreate(mluOpHandle_t* handle) { return MLUOP_STATUS_NOT_INITIALIZED; }
mluOpStatus_t MLUOP_WIN_API mluOpDestroy(mluOpHandle_t handle) { return MLUOP_STATUS_NOT_INITIALIZED; }
]])
file(WRITE ${original}/original.map "MLUOP_ABI_1.0 {\n  global: mluOpCreate; mluOpDestroy;\n  local: *;\n};\n")
file(WRITE ${original}/program.c [[
#include <mlu_op.h>
#include <stdio.h>

int main(void) {
  mluOpHandle_t handle = NULL;
  printf("mluOpCreate returned %d\n", mluOpCreate(&handle));
  mluOpDestroy(handle);
  return 0;
}
]])
separate_arguments(c_flags UNIX_COMMAND "${C_FLAGS}")
# Without cnrt.h.
set(headers -I${PROJECT_DIR}/include)
run(ignored ${C_COMPILER} ${c_flags} ${headers} -shared -fPIC ${original}/original.c
  -Wl,-soname,libmluops.so.1 -Wl,--version-script=${original}/original.map -o ${original}/libmluops.so.1)
run(ignored ${C_COMPILER} ${c_flags} ${headers} ${original}/program.c ${original}/libmluops.so.1 -o ${WORK_DIR}/program)
run_with(${original} printed)
if(NOT printed STREQUAL "0: mluOpCreate returned 1\n")
  message(FATAL_ERROR "with the original, the program printed '${printed}'")
endif()
run_with(${prefix}/lib printed)
if(NOT printed STREQUAL "0: mluOpCreate returned 0\n")
  message(FATAL_ERROR "with libmluops.so.1, the program printed '${printed}'")
endif()
# What the node prevents.
file(MAKE_DIRECTORY ${WORK_DIR}/without_node)
file(CREATE_LINK ${prefix}/lib/libmluop_omp.so ${WORK_DIR}/without_node/libmluops.so.1 SYMBOLIC)
run_with(${WORK_DIR}/without_node printed)
if(NOT printed MATCHES "no version information available")
  message(FATAL_ERROR "with a library without the node, the program printed '${printed}', expected a warning")
endif()

# A program in the style of MLU-OPS's samples, which include mlu_op.h alone.
file(WRITE ${WORK_DIR}/sample.cpp [[
#include <cn_api.h>
#include <mlu_op.h>

#include <cmath>
#include <cstdio>

// The overlaps of two boxes with themselves, in memory of the device.
int main() {
  int device = -1;
  CNRT_CHECK(cnrtGetDevice(&device));
  CNRT_CHECK(cnrtSetDevice(device));
  cnrtQueue_t queue = nullptr;
  CNRT_CHECK(cnrtQueueCreate(&queue));
  mluOpHandle_t handle = nullptr;
  if (mluOpCreate(&handle) != MLUOP_STATUS_SUCCESS || mluOpSetQueue(handle, queue) != MLUOP_STATUS_SUCCESS) return 1;

  float boxes[8] = {0, 0, 2, 2, 1, 0, 3, 2};
  const int boxes_dims[] = {2, 4}, overlaps_dims[] = {2, 2};
  mluOpTensorDescriptor_t boxes_desc, overlaps_desc;
  mluOpCreateTensorDescriptor(&boxes_desc);
  mluOpCreateTensorDescriptor(&overlaps_desc);
  mluOpSetTensorDescriptor(boxes_desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 2, boxes_dims);
  mluOpSetTensorDescriptor(overlaps_desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 2, overlaps_dims);
  void *boxes_device = nullptr, *overlaps_device = nullptr;
  CNRT_CHECK(cnrtMalloc(&boxes_device, sizeof boxes));
  CNRT_CHECK(cnrtMalloc(&overlaps_device, 4 * sizeof(float)));
  CNRT_CHECK(cnrtMemcpy(boxes_device, boxes, sizeof boxes, cnrtMemcpyHostToDev));

  cnrtNotifier_t start = nullptr, end = nullptr;
  CNRT_CHECK(cnrtNotifierCreate(&start));
  CNRT_CHECK(cnrtNotifierCreate(&end));
  CNRT_CHECK(cnrtPlaceNotifier(start, queue));
  const mluOpStatus_t status = mluOpBboxOverlaps(handle, 0, false, 0, boxes_desc, boxes_device, boxes_desc,
                                                 boxes_device, overlaps_desc, overlaps_device);
  CNRT_CHECK(cnrtPlaceNotifier(end, queue));
  CNRT_CHECK(cnrtQueueSync(queue));
  float us = -1, overlaps[4] = {};
  CNRT_CHECK(cnrtNotifierDuration(start, end, &us));
  CNRT_CHECK(cnrtMemcpy(overlaps, overlaps_device, sizeof overlaps, cnrtMemcpyDevToHost));
  std::printf("%d: %g %.3f %.3f %g\n", status, overlaps[0], overlaps[1], overlaps[2], overlaps[3]);

  CNRT_CHECK(cnrtNotifierDestroy(start));
  CNRT_CHECK(cnrtNotifierDestroy(end));
  CNRT_CHECK(cnrtFree(boxes_device));
  CNRT_CHECK(cnrtFree(overlaps_device));
  mluOpDestroyTensorDescriptor(boxes_desc);
  mluOpDestroyTensorDescriptor(overlaps_desc);
  CNRT_CHECK(cnrtQueueDestroy(queue));
  mluOpDestroy(handle);
  return us > 0 ? 0 : 2;
}
]])
separate_arguments(cxx_flags UNIX_COMMAND "${CXX_FLAGS}")
run(ignored ${CXX_COMPILER} ${cxx_flags} -std=c++11 -Wall -Werror -pthread ${WORK_DIR}/sample.cpp
  -I${prefix}/include -L${prefix}/lib -lmluops -lcnrt -o ${WORK_DIR}/program)
run_with(${prefix}/lib printed)
if(NOT printed STREQUAL "0: 0: 1 0.333 0.333 1\n")
  message(FATAL_ERROR "the sample printed '${printed}'")
endif()
