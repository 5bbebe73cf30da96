# The shared library exports the functions of the API only, and its SONAME contains the version.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

run(symbols ${NM} -D --defined-only --format=posix ${LIBRARY})
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
if(NOT symbols MATCHES "mluOpCreate ")
  message(FATAL_ERROR "${LIBRARY} does not export mluOpCreate: ${symbols}")
endif()
list(FILTER symbols EXCLUDE REGEX "^mluOp")
if(symbols)
  list(JOIN symbols "\n" lines)
  message(FATAL_ERROR "${LIBRARY} exports more than the API:\n${lines}")
endif()

run(dynamic ${READELF} -d ${LIBRARY})
string(REGEX MATCH "^[0-9]+\\.[0-9]+" abi_version ${VERSION})
if(NOT dynamic MATCHES "SONAME[^\n]*\\[libmluop_omp\\.so\\.${abi_version}\\]")
  message(FATAL_ERROR "${LIBRARY} has no SONAME libmluop_omp.so.${abi_version}:\n${dynamic}")
endif()
