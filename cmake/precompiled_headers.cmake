# Headers that most files include, parsed once for each target that links mluop_omp_precompiled_headers. Files include
# the headers that they use all the same: CMAKE_DISABLE_PRECOMPILE_HEADERS compiles without precompiled headers.
add_library(mluop_omp_precompiled_headers INTERFACE)
target_precompile_headers(mluop_omp_precompiled_headers INTERFACE
  <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory> <numeric> <optional>
  <span> <string> <string_view> <type_traits> <utility> <vector>)
# Included by Highway.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_precompile_headers(mluop_omp_precompiled_headers INTERFACE <immintrin.h>)
endif()
