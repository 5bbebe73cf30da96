# Sets `functions` to the functions that the public headers in `include` declare.
function(mluop_declared_functions functions include)
  file(READ ${include}/mlu_op.h text)
  file(READ ${include}/mlu_op_omp.h extras)
  string(REGEX MATCHALL "MLUOP_WIN_API[ \n]+mluOp[A-Za-z0-9_]+\\(" declarations "${text}${extras}")
  list(TRANSFORM declarations REPLACE "MLUOP_WIN_API[ \n]+(.*)\\(" "\\1")
  list(SORT declarations)
  set(${functions} ${declarations} PARENT_SCOPE)
endfunction()

# Sets `lines` to the lines missing in the list of symbols in `file`: the functions since the last release, with the
# version `version`.
function(mluop_new_symbols lines include file version)
  mluop_declared_functions(new ${include})
  file(STRINGS ${file} listed REGEX "^ ")
  list(TRANSFORM listed REPLACE "^ ([^@]*)@.*$" "\\1")
  list(REMOVE_ITEM new ${listed})
  list(TRANSFORM new REPLACE "(.+)" " \\1@Base ${version}\n")
  list(JOIN new "" text)
  set(${lines} "${text}" PARENT_SCOPE)
endfunction()

# Run by cmake -P, prints these lines.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  mluop_new_symbols(lines ${CMAKE_CURRENT_LIST_DIR}/../include ${CMAKE_CURRENT_LIST_DIR}/../src/mluop_omp.symbols ${VERSION})
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo_append "${lines}")
endif()
