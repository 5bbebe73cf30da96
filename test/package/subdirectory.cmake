# Configures a project that adds mluop-omp as a subdirectory. parent/CMakeLists.txt checks the result.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${WORK_DIR})
configure(${CMAKE_CURRENT_LIST_DIR}/parent ${WORK_DIR} -DMLUOP_OMP_SOURCE_DIR=${PROJECT_DIR}
  -DCMAKE_C_FLAGS=${C_FLAGS} -DCMAKE_CXX_FLAGS=${CXX_FLAGS})
