# Builds a program with the other compiler and its OpenMP runtime, libomp or libgomp. The program loads the library,
# which then runs on its own runtime or on the program's runtime: libomp has the functions of libgomp too, with the same
# symbol versions; the functions loaded first take precedence unless the process loads the library with DEEPBIND.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
set(program ${WORK_DIR}/two_runtimes)
run(ignored ${OTHER_COMPILER} -std=c++17 -O1 -Wall -Wextra -Werror ${OTHER_OPENMP} -I${PROJECT_DIR}/include
    ${CMAKE_CURRENT_LIST_DIR}/two_runtimes.cpp -o ${program} -ldl)

# The program sets 2 threads in its own runtime, the environment 3 in both.
set(ENV{OMP_NUM_THREADS} 3)
# Waiting threads of one runtime leave the processors to the other.
set(ENV{OMP_WAIT_POLICY} passive)
run(printed ${program} ${LIBRARY})
set(tasks 3)
if(OTHER_OPENMP STREQUAL "-fopenmp=libomp")
  set(tasks 2)
endif()
if(NOT printed STREQUAL "${tasks} tasks on ${tasks} threads\n0 failures\n")
  message(FATAL_ERROR "expected ${tasks} tasks: ${printed}")
endif()
run(printed ${program} ${LIBRARY} DEEPBIND)
if(NOT printed STREQUAL "3 tasks on 3 threads\n0 failures\n")
  message(FATAL_ERROR "with DEEPBIND, expected 3 tasks: ${printed}")
endif()
