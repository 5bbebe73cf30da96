# Toolchain of the preset aarch64: Debian's cross compiler. Of the libraries only the headers are needed, so the
# host's packages serve.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
foreach(package IN ITEMS fmt hwy spdlog)
  set(${package}_DIR /usr/lib/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu/cmake/${package})
endforeach()
