# Runs the cases of PROGRAM as benchmarks of Google Benchmark. Requires the names and counters in its JSON, and a failed
# case to be an error.
function(run)
  execute_process(COMMAND ${PROGRAM} --op three_interpolate --case 16x16x64 --dtype float --threads 1 --size 0.02
    --benchmark_filter=backward --benchmark_format=json ${ARGN}
    RESULT_VARIABLE status OUTPUT_VARIABLE json ERROR_VARIABLE progress)
  set(status ${status} PARENT_SCOPE)
  set(json "${json}" PARENT_SCOPE)
endfunction()

function(require_equal found expected)
  if(NOT found STREQUAL expected)
    message(FATAL_ERROR "found ${found}, expected ${expected}:\n${json}")
  endif()
endfunction()

run()
require_equal("${status}" 0)
string(JSON count LENGTH "${json}" benchmarks)
require_equal(${count} 2)
foreach(index algorithm IN ZIP_LISTS "0;1" "native;device")
  string(JSON name GET "${json}" benchmarks ${index} name)
  require_equal(${name} "three_interpolate_backward/16x16x64_m512/float/${algorithm}/real_time")
  foreach(counter IN ITEMS stream_bound compute_bound efficiency serial bytes_per_second)
    string(JSON value GET "${json}" benchmarks ${index} ${counter})
    if(NOT value GREATER 0)
      message(FATAL_ERROR "${counter} is ${value}:\n${json}")
    endif()
  endforeach()
endforeach()
string(JSON value GET "${json}" benchmarks 0 algorithmic_bound)
string(JSON value ERROR_VARIABLE missing GET "${json}" benchmarks 1 algorithmic_bound)
require_equal("${value}" "benchmarks-1-algorithmic_bound-NOTFOUND")

# A tile of the device algorithm exceeds the NRAM.
set(ENV{MLUOP_OMP_NRAM_KB} 1)
run()
require_equal("${status}" 1)
string(JSON message GET "${json}" benchmarks 1 error_message)
