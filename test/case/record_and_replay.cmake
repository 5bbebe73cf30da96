# Records the calls of the small cases of every operator and data type, in both algorithms, and replays the recordings
# with the same bits.
file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
foreach(files IN ITEMS 0 1)
  set(folder ${WORK_DIR}/files_${files})
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env MLUOP_GEN_CASE=2 MLUOP_GEN_CASE_DIR=${folder} MLUOP_GEN_CASE_DUMP_DATA_FILE=${files}
      ${MLUOP_CASE} run ${CASES} --filter small* --filter by_hand* --algorithm both --tasks 3
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0 OR NOT output MATCHES "([0-9]+) runs: ")
    message(FATAL_ERROR "exit status ${status}, expected 0\n${output}")
  endif()
  set(runs ${CMAKE_MATCH_1})

  execute_process(COMMAND ${MLUOP_CASE} run ${folder} --bits
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0 OR NOT output MATCHES "${runs} runs: ${runs} passed")
    message(FATAL_ERROR "exit status ${status}, expected 0 and ${runs} passed cases\n${output}")
  endif()

  # Every operator that has cases.
  file(GLOB operators RELATIVE ${CASES} ${CASES}/*)
  list(REMOVE_ITEM operators README.md)
  foreach(operator IN LISTS operators)
    if(NOT IS_DIRECTORY ${folder}/gen_case/${operator})
      message(FATAL_ERROR "no call of ${operator} was recorded")
    endif()
  endforeach()
endforeach()
