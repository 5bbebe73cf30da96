# The target that judges the tests.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_custom_target(mutation
  COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/cmake/mutation/run.py ${PROJECT_BINARY_DIR}
          --log ${PROJECT_BINARY_DIR}/mutation.log
  DEPENDS mluop_tests
  USES_TERMINAL COMMENT "Testing mutants")
