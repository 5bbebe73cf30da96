# Helpers of the package tests, for scripts run by cmake -P. test/package/CMakeLists.txt passes the variables.

# Runs a command and sets `output` to its output. Prints the output and ends the test if the command fails.
function(run output)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE printed ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${printed}\n${errors}")
  endif()
  set(${output} "${printed}" PARENT_SCOPE)
endfunction()

# Configures the project in `source` with the settings of this build. cmake gets the further arguments.
function(configure source binary)
  run(ignored ${CMAKE_COMMAND} -S ${source} -B ${binary} -G ${GENERATOR}
      -DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM} -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
      -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER} ${ARGN})
endfunction()

# Requires that a command fails, and that its output, with line breaks as spaces, matches the regex.
function(expect_failure regex)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE printed ERROR_VARIABLE printed)
  string(REGEX REPLACE "[ \n]+" " " printed "${printed}")
  if(status EQUAL 0 OR NOT printed MATCHES "${regex}")
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}, expected a failure and '${regex}': ${printed}")
  endif()
endfunction()
