# Reports the coverage of src/ and fails below these limits: 97 % of the lines; all branches of the checks, whose files
# match the regular expression CHECKS. Branches of exception handling and the branch of delete for a null pointer
# do not count. Reads and removes the counters that the tests have written below BINARY. Branches do not show whether
# each rule fails in a test; mutants without a rule do:
#   python3 cmake/mutation/run.py build/release --match '(mluop::)?(require|check|call.check|throw)'
set(tracefile ${BINARY}/coverage.json)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(gcovr --root ${SOURCE} --filter ${SOURCE}/src/ --exclude-throw-branches --exclude-unreachable-branches
    --exclude-branches-by-pattern " *(delete |} catch ).*" --delete -j 2 --json ${tracefile} ${BINARY})
run(gcovr --root ${SOURCE} --add-tracefile ${tracefile} --fail-under-line 97)
run(gcovr --root ${SOURCE} --add-tracefile ${tracefile} --filter .*${CHECKS} --branches --fail-under-branch 100)
