# Writes ctest entries to TESTS: one of the fuzzer of operators for each operator that the program NAMES prints, and
# one of each other fuzzer in FUZZERS. An entry runs the committed corpus below SOURCES, if there is one, then fuzzes
# for 30 or 600 seconds. New inputs are kept in the build folder only. An input that fails is left in
# build/<preset>/test/fuzz/<entry>. The dictionary of case_file has the words of SCHEMA and the names.
cmake_minimum_required(VERSION 3.25)
cmake_path(GET TESTS PARENT_PATH build)
execute_process(COMMAND ${NAMES} OUTPUT_VARIABLE operators COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" operators "${operators}")

file(READ ${SCHEMA} schema)
string(REGEX REPLACE "//[^\n]*" "" schema "${schema}")
string(REGEX MATCHALL "[A-Za-z][A-Za-z0-9_]+" words "${schema}")
list(APPEND words ${operators})
list(REMOVE_DUPLICATES words)
list(TRANSFORM words REPLACE "(.+)" "\"\\1\"")
list(JOIN words "\n" words)
file(WRITE ${build}/case_file.dict "${words}\n")

set(tests)
function(add_tests fuzzer name options)
  set(seeds ${SOURCES}/corpus/${name})
  if(NOT EXISTS ${seeds})
    set(seeds)
  endif()
  foreach(label seconds IN ZIP_LISTS labels durations)
    string(REPLACE - _ entry ${label}.${name})
    set(folder ${build}/${entry})
    file(MAKE_DIRECTORY ${folder}/corpus)
    string(APPEND tests
      "add_test(${entry} ${build}/fuzz_${fuzzer} ${folder}/corpus ${seeds} -max_total_time=${seconds} -seed=1"
      " -len_control=0 -print_final_stats=1 -timeout=25 -rss_limit_mb=2048 ${options})\n"
      "set_tests_properties(${entry} PROPERTIES LABELS ${label} WORKING_DIRECTORY ${folder}"
      " ENVIRONMENT MLUOP_FUZZED_OPERATOR=${name})\n")
  endforeach()
  set(tests "${tests}" PARENT_SCOPE)
endfunction()
set(labels fuzz fuzz-long)
set(durations 30 600)
foreach(operator IN LISTS operators)
  add_tests(operator ${operator} "-max_len=256")
endforeach()
set(options_of_case_file "-max_len=2048 -dict=${build}/case_file.dict")
foreach(fuzzer IN LISTS FUZZERS)
  set(options "-max_len=256")
  if(DEFINED options_of_${fuzzer})
    set(options ${options_of_${fuzzer}})
  endif()
  add_tests(${fuzzer} ${fuzzer} "${options}")
endforeach()
file(WRITE ${TESTS} "${tests}")
