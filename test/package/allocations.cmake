# The library allocates only with operator new, whose failures the tests simulate one by one; and with malloc() the
# text of mluOpGetGenCaseDirectory, which the caller frees.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

run(symbols ${NM} -D --undefined-only --format=posix ${LIBRARY})
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
if(NOT symbols MATCHES "_Znwm")
  message(FATAL_ERROR "${LIBRARY} does not use operator new: ${symbols}")
endif()
list(FILTER symbols INCLUDE REGEX
  "^(calloc|realloc|reallocarray|aligned_alloc|posix_memalign|memalign|valloc|pvalloc|mmap|mmap64|sbrk|strdup|strndup|asprintf|vasprintf|omp_alloc)[@ ]")
if(symbols)
  list(JOIN symbols "\n" lines)
  message(FATAL_ERROR "${LIBRARY} allocates without operator new:\n${lines}")
endif()
