# Targets that judge the tests. `mutation` requires a build of mluop_tests, `coverage` a run of the tests after it.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_custom_target(mutation
  COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/cmake/mutation/run.py ${PROJECT_BINARY_DIR}
          --log ${PROJECT_BINARY_DIR}/mutation.log
  DEPENDS mluop_tests
  USES_TERMINAL COMMENT "Testing mutants")
add_custom_target(coverage
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DBINARY=${PROJECT_BINARY_DIR}
          -P ${PROJECT_SOURCE_DIR}/cmake/coverage.cmake
  USES_TERMINAL COMMENT "Coverage of src/")
