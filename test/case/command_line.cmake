# Runs mluop_case and checks exit status and output.
file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})

# Fails unless the status is `status` and stdout with stderr matches `pattern`.
function(expect status pattern)
  execute_process(COMMAND ${MLUOP_CASE} ${ARGN} WORKING_DIRECTORY ${WORK_DIR}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT result STREQUAL "${status}")
    message(FATAL_ERROR "${ARGN}: exit status ${result}, expected ${status}\n${output}${errors}")
  endif()
  if(NOT "${output}${errors}" MATCHES "${pattern}")
    message(FATAL_ERROR "${ARGN}: the output does not match \"${pattern}\":\n${output}${errors}")
  endif()
endfunction()

expect(0 "Usage: mluop_case" --help)
foreach(command IN ITEMS run show diff new reduce)
  expect(0 "Usage: mluop_case ${command}" ${command} --help)
endforeach()
expect(2 "subcommand is required")
expect(2 "not expected" run --nonsense ${CASES})
expect(2 "does not exist" run missing.prototxt)
expect(2 "--algorithm" run ${CASES} --algorithm fast)
expect(2 "--tasks" run ${CASES} --tasks 0)
expect(2 "no case found" run ${CASES} --filter nothing)
expect(0 "1 run: 1 passed" run ${CASES}/ball_query/by_hand.prototxt --tasks 2)
expect(0 "2 runs: 2 passed" run ${CASES} --filter *ball_query/by_hand* --algorithm both)
expect(0 "io .* %, compute .* %" run ${CASES}/three_nn_forward/small_float.prototxt --repeat 2)
expect(0 "parameter  nsample = 4" show ${CASES}/ball_query/by_hand.prototxt)
expect(2 "missing.prototxt: cannot read" show missing.prototxt)

expect(0 "" new ball_query --size b=1,m=4,n=9 --seed 7 --output new.pb)
expect(0 "new.pb" run new.pb --save-output saved)
expect(0 "bits equal" diff saved/new.pb.native.idx.bin saved/new.pb.native.idx.bin --dtype int32 --shape 1,4,16)
expect(2 "unknown operator 'nothing'" new nothing)
expect(2 "expected some of b=2, m=32" new ball_query --size x=1)
expect(2 "invalid size 'b=one'" new ball_query --size b=one)
expect(2 "does not accept data type 'half'" new voxelization --dtype half)
expect(2 "nothing to reduce" reduce ${CASES}/ball_query/by_hand.prototxt --output none.prototxt)

file(READ ${CASES}/ball_query/by_hand.prototxt rejected)
string(REPLACE "nsample: 4" "nsample: 5" rejected "${rejected}")
file(WRITE ${WORK_DIR}/rejected.prototxt "${rejected}")
expect(2 "rejected: nothing to reduce: MLUOP_STATUS_BAD_PARAM" reduce rejected.prototxt)

# A case that cannot be run does not keep the others from running.
file(WRITE ${WORK_DIR}/folder/a.prototxt "op_name: \"ball_query\"\ninput {\n  shape { dims: two }\n}\n")
file(COPY ${CASES}/masked_im2col_forward/by_hand.prototxt DESTINATION ${WORK_DIR}/folder)
expect(2 "a.prototxt:3: dims: Expected integer, got: two.*PASS .*by_hand" run folder --junit junit.xml --json report.json)
file(READ ${WORK_DIR}/junit.xml junit)
if(NOT junit MATCHES "tests=\"2\" failures=\"0\" errors=\"1\"")
  message(FATAL_ERROR "junit.xml:\n${junit}")
endif()
file(READ ${WORK_DIR}/report.json report)
string(JSON status GET "${report}" cases 0 status)
if(NOT status STREQUAL "invalid")
  message(FATAL_ERROR "report.json: status ${status}, expected invalid")
endif()
expect(2 "cannot write missing/report.json" run folder --json missing/report.json)
expect(2 "cannot write missing/junit.xml" run folder --junit missing/junit.xml)
expect(2 "cannot write missing/new.pb" new ball_query --output missing/new.pb)
expect(2 "cannot create new.pb" run new.pb --save-output new.pb)

# Fails unless the status is 2 and stderr is the line `pattern`. redirection: of the shell.
function(expect_unwritable redirection pattern)
  execute_process(COMMAND sh -c "\"$0\" \"$@\" ${redirection}" ${MLUOP_CASE} ${ARGN} WORKING_DIRECTORY ${WORK_DIR}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT result STREQUAL "2" OR NOT "${errors}" MATCHES "^mluop_case: ${pattern}\n$")
    message(FATAL_ERROR
      "${ARGN} ${redirection}: exit status ${result}, expected 2 and \"${pattern}\"\n${output}${errors}")
  endif()
endfunction()

# A case that fails: sums in fp32 are not those in double, rounded.
expect(0 "" new three_interpolate_forward --output inexact.prototxt)
file(APPEND ${WORK_DIR}/inexact.prototxt "test_param { error_func: DIFF3 error_threshold: 0 }")
expect(1 "1 failed" run inexact.prototxt)
expect(0 "wrote reduced.pb" reduce inexact.prototxt --output reduced.pb)
expect(2 "cannot write missing/reduced.pb" reduce inexact.prototxt --output missing/reduced.pb)

set(commands "--help" "run new.pb" "show new.pb" "new ball_query" "diff new.pb new.pb --dtype int8"
  "reduce inexact.prototxt --output reduced.pb")
set(redirections ">&-")
if(EXISTS /dev/full)
  list(APPEND redirections "> /dev/full")
endif()
foreach(redirection IN LISTS redirections)
  foreach(command IN LISTS commands)
    separate_arguments(command)
    expect_unwritable("${redirection}" "cannot write standard output" ${command})
  endforeach()
endforeach()
# A report does not get the lines of a closed standard output.
expect_unwritable(">&-" "cannot write standard output" run new.pb --json closed.json)
file(READ ${WORK_DIR}/closed.json report)
string(JSON status GET "${report}" cases 0 status)
# A file that cannot grow during the run. 1: block of 512 or 1024 bytes. Nor can the shared memory of
# libomp, which requires it.
set(reports --json --junit)
if(LIBOMP)
  set(reports "")
endif()
foreach(option IN LISTS reports)
  execute_process(
    COMMAND sh -c "trap '' XFSZ; ulimit -f 1; \"$0\" \"$@\""
      ${MLUOP_CASE} run ${CASES} --filter small* ${option} limited
    WORKING_DIRECTORY ${WORK_DIR} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT result STREQUAL "2" OR NOT output MATCHES " runs: "
      OR NOT errors STREQUAL "mluop_case: cannot write limited\n")
    message(FATAL_ERROR "${option} limited: exit status ${result}, expected 2\n${output}${errors}")
  endif()
endforeach()
if(EXISTS /dev/full)
  foreach(option IN ITEMS --json --junit)
    # Before the cases run.
    expect(2 "^mluop_case: cannot write /dev/full\n$" run new.pb ${option} /dev/full)
  endforeach()
  expect_unwritable("" "cannot write /dev/full" new ball_query --output /dev/full)
  expect_unwritable("" "cannot write /dev/full" reduce inexact.prototxt --output /dev/full)
  file(MAKE_DIRECTORY ${WORK_DIR}/full)
  file(CREATE_LINK /dev/full ${WORK_DIR}/full/new.pb.native.idx.bin SYMBOLIC)
  expect(2 "ERROR  cannot write full/new.pb.native.idx.bin" run new.pb --save-output full)
endif()

# Cases of one name, in text and binary and in two folders, keep their outputs, whatever the filter is.
foreach(folder IN ITEMS same/a same/b/c)
  file(MAKE_DIRECTORY ${WORK_DIR}/${folder})
  foreach(name IN ITEMS x.pb x.prototxt)
    expect(0 "" new masked_col2im_forward --output ${folder}/${name})
  endforeach()
endforeach()
expect(0 "4 passed" run same --save-output all)
expect(0 "2 passed" run same/a same/b/c/x.pb --filter x.pb --save-output some)
foreach(output IN ITEMS all/a/x.pb all/a/x.prototxt all/b/c/x.pb all/b/c/x.prototxt some/a/x.pb some/b/c/x.pb)
  if(NOT EXISTS ${WORK_DIR}/${output}.native.im.bin)
    message(FATAL_ERROR "${output}.native.im.bin is missing")
  endif()
endforeach()

# Links that lead nowhere are invalid cases.
file(MAKE_DIRECTORY ${WORK_DIR}/links)
file(CREATE_LINK loop.prototxt ${WORK_DIR}/links/loop.prototxt SYMBOLIC)
file(CREATE_LINK missing ${WORK_DIR}/links/missing.pb SYMBOLIC)
file(COPY ${CASES}/masked_im2col_forward/by_hand.prototxt DESTINATION ${WORK_DIR}/links)
expect(2 "loop.prototxt: cannot read.*missing.pb: cannot read.*1 passed, 0 failed, 2 invalid" run links)

# Files outside the folder of the case.
file(READ ${CASES}/three_interpolate_backward/by_hand.prototxt outside)
file(COPY ${CASES}/three_interpolate_backward/weights.bin DESTINATION ${WORK_DIR})
string(REPLACE "weights.bin" "../weights.bin" outside "${outside}")
file(WRITE ${WORK_DIR}/outside/x.prototxt "${outside}")
expect(0 "1 passed" run outside)
expect(0 "file ../weights.bin" show outside/x.prototxt)
foreach(command IN ITEMS run show reduce)
  expect(2 "x.prototxt:22: input.2. .weights..path: file ../weights.bin is outside the folder of the case"
    ${command} outside/x.prototxt --no-external-files)
endforeach()
expect(0 "1 passed" run ${CASES}/three_interpolate_backward/by_hand.prototxt --no-external-files)
