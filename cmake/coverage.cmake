# Reports the coverage of src/ and fails below these limits: 97 % of the lines; all branches of the checks, which are the
# operators' entries, the C functions of src/api, and the rules that they call. Branches to exception handlers do not
# count. Reads and removes the counters that the tests have written below BINARY.
set(tracefile ${BINARY}/coverage.json)
set(checks "src/ops/[^/]+/[^/]+\\.(cpp|h)|src/api/.*|src/core/(checks|boundary|sizes)\\.h|src/team/operator_call\\..*")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(gcovr --root ${SOURCE} --filter ${SOURCE}/src/ --exclude-throw-branches --exclude-unreachable-branches --delete
    -j 2 --json ${tracefile} ${BINARY}/src)
run(gcovr --root ${SOURCE} --add-tracefile ${tracefile} --fail-under-line 97)
run(gcovr --root ${SOURCE} --add-tracefile ${tracefile} --filter ${checks} --branches --fail-under-branch 100)
