# Installs the library into a new prefix, builds and runs two consumers, the example of the README and a C++17 program,
# and runs mluop_case.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

set(prefix ${WORK_DIR}/prefix)
file(REMOVE_RECURSE ${WORK_DIR})
run(ignored ${CMAKE_COMMAND} --install ${PROJECT_BUILD_DIR} --prefix ${prefix})

file(GLOB_RECURSE second_names ${prefix}/*libmluops*)
if(second_names)
  message(FATAL_ERROR "installed without MLUOP_OMP_INSTALL_MLUOPS_NAME: ${second_names}")
endif()

# Sets `result` to the code block of the README in the given language. There must be exactly one.
function(readme_block language result)
  file(READ ${PROJECT_DIR}/README.md readme)
  string(REGEX MATCHALL "\n```${language}\n" openings "${readme}")
  list(LENGTH openings count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "README.md has ${count} blocks of ${language}, expected 1")
  endif()
  string(REGEX MATCH "\n```${language}\n([^`]*)```" ignored "${readme}")
  set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# Builds the project in `source` with the prefix, runs its program and sets `output` to the output.
function(build_and_run source program output)
  set(binary ${source}/build)
  configure(${source} ${binary} -DCMAKE_PREFIX_PATH=${prefix} ${ARGN})
  run(ignored ${CMAKE_COMMAND} --build ${binary})
  run(printed ${binary}/${program})
  set(${output} "${printed}" PARENT_SCOPE)
endfunction()

set(warnings "-Wall -Wextra -Wpedantic -Werror")

readme_block(cmake lists)
readme_block(c code)
file(WRITE ${WORK_DIR}/readme/CMakeLists.txt "${lists}")
file(WRITE ${WORK_DIR}/readme/example.c "${code}")
build_and_run(${WORK_DIR}/readme example printed
  "-DCMAKE_C_FLAGS=${C_FLAGS} -std=c99 ${warnings}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}")
if(NOT printed STREQUAL "0 0 11 22\n")
  message(FATAL_ERROR "the README's example printed \"${printed}\"")
endif()

file(COPY ${CMAKE_CURRENT_LIST_DIR}/cpp17 DESTINATION ${WORK_DIR})
string(REPLACE "." ";" version ${VERSION})
list(GET version 0 major)
list(GET version 1 minor)
list(GET version 2 patch)
set(definitions "-DMLUOP_OMP_EXPECTED_MAJOR=${major} -DMLUOP_OMP_EXPECTED_MINOR=${minor}")
string(APPEND definitions " -DMLUOP_OMP_EXPECTED_PATCH=${patch}")
build_and_run(${WORK_DIR}/cpp17 consumer printed
  "-DCMAKE_CXX_FLAGS=${CXX_FLAGS} ${warnings} ${definitions}")

# The installed command finds the installed library.
if(BUILD_CASE)
  run(printed ${prefix}/bin/mluop_case run ${PROJECT_DIR}/test/cases/ball_query/by_hand.prototxt)
  if(NOT printed MATCHES "1 run: 1 passed")
    message(FATAL_ERROR "mluop_case printed \"${printed}\"")
  endif()
endif()
