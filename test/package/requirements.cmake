# A configuration without a package, or without a compiler, ends with a message that names the package. mluop_case is left
# out with such a message, unless MLUOP_OMP_BUILD_CASE is ON. On a system that install-deps.sh does not know, it prints the
# names.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${WORK_DIR})
set(configure ${CMAKE_COMMAND} -S ${PROJECT_DIR} -B ${WORK_DIR} -G ${GENERATOR} -DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}
  -DCMAKE_C_COMPILER=${C_COMPILER})
expect_failure("CMAKE_CXX_COMPILER=no-g\\+\\+: .*apt install g\\+\\+ .*dnf install gcc-c\\+\\+ .*forge cxx-compiler"
  ${configure} -DCMAKE_CXX_COMPILER=no-g++)
list(APPEND configure -DCMAKE_CXX_COMPILER=${CXX_COMPILER})
# One message names both packages.
expect_failure("mluop_case, which is left out, requires CLI11: .*apt install libcli11-dev .* requires spdlog, Highway 1.0 or newer: .*apt install libspdlog-dev libhwy-dev .*dnf install spdlog-devel highway-devel .*forge spdlog libhwy "
  ${configure} -DCMAKE_DISABLE_FIND_PACKAGE_hwy=ON -DCMAKE_DISABLE_FIND_PACKAGE_spdlog=ON
  -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON)
expect_failure("MLUOP_OMP_BUILD_CASE=ON requires CLI11: .*apt install libcli11-dev " ${configure} -DMLUOP_OMP_BUILD_CASE=ON)
expect_failure("requires OpenMP: .*apt install libomp-dev .*dnf install libomp-devel .*forge llvm-openmp "
  ${configure} -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON -DCMAKE_DISABLE_FIND_PACKAGE_hwy=OFF
  -DCMAKE_DISABLE_FIND_PACKAGE_spdlog=OFF -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=OFF -DMLUOP_OMP_BUILD_CASE=OFF)
expect_failure("MLUOP_OMP_BUILD_TESTS=ON requires GoogleTest: .*apt install libgtest-dev libgmock-dev "
  ${configure} -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=OFF
  -DMLUOP_OMP_BUILD_PERF=OFF)

file(WRITE ${WORK_DIR}/os-release "ID=arch\n")
set(ENV{MLUOP_OMP_OS_RELEASE} ${WORK_DIR}/os-release)
execute_process(COMMAND sh ${PROJECT_DIR}/cmake/install-deps.sh python RESULT_VARIABLE status OUTPUT_VARIABLE printed
  ERROR_VARIABLE errors)
if(NOT status EQUAL 3 OR NOT errors MATCHES "found arch, expected" OR NOT printed MATCHES "\nlibhwy-dev\n")
  message(FATAL_ERROR "install-deps.sh ended with ${status}, expected 3: ${printed}${errors}")
endif()
