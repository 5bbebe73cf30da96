# Writes ctest entries to TESTS: one of the fuzzer of operators for each operator that the program NAMES prints, and
# one of each other fuzzer in FUZZERS. An entry runs the committed corpus below SOURCES, if there is one, then fuzzes: a
# number of inputs, the same each time, or 600 seconds. The long runs keep new inputs, in the build folder only. An input
# that fails is left in build/<preset>/test/fuzz/<entry>. The dictionary of case_file has the words of SCHEMA and the
# names.
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
function(add_tests fuzzer name runs options)
  file(GLOB seeds ${SOURCES}/corpus/${name}/*)
  if(seeds)
    list(JOIN seeds , seeds)
    set(seeds -seed_inputs=${seeds})
  endif()
  foreach(label IN ITEMS fuzz fuzz-long)
    string(REPLACE - _ entry ${label}.${name})
    set(folder ${build}/${entry})
    if(label STREQUAL fuzz-long)
      set(corpus ${folder}/corpus)
      set(end -max_total_time=600)
    else()
      set(corpus)
      set(end -runs=${runs})
    endif()
    file(MAKE_DIRECTORY ${folder} ${corpus})
    string(APPEND tests
      "add_test(${entry} ${build}/fuzz_${fuzzer} ${corpus} ${seeds} ${end} -seed=1"
      " -len_control=0 -print_final_stats=1 -timeout=25 -rss_limit_mb=2048 ${options})\n"
      "set_tests_properties(${entry} PROPERTIES LABELS ${label} WORKING_DIRECTORY ${folder}"
      " ENVIRONMENT \"MLUOP_FUZZED_OPERATOR=${name};OMP_WAIT_POLICY=passive\")\n")
  endforeach()
  set(tests "${tests}" PARENT_SCOPE)
endfunction()
foreach(operator IN LISTS operators)
  add_tests(operator ${operator} 100 "-max_len=256")
endforeach()
set(options_of_case_file "-max_len=2048 -dict=${build}/case_file.dict")
foreach(fuzzer IN LISTS FUZZERS)
  set(options "-max_len=256")
  if(DEFINED options_of_${fuzzer})
    set(options ${options_of_${fuzzer}})
  endif()
  add_tests(${fuzzer} ${fuzzer} 10000 "${options}")
endforeach()
file(WRITE ${TESTS} "${tests}")
