# Searches the dependencies of the build, and names the packages of missing ones:
#
#   mluop_find(hwy)                     find_package(), of one of the packages below
#   mluop_find_header(kissfft FILE)     find_path(), of a package whose headers are enough: kissfft_INCLUDE_DIR
#   mluop_require_found("The library")  ends the configuration if one of these failed since the last time
#   mluop_enable_languages()            compilers of C and C++
#   mluop_find_case()                   what mluop_case requires, as MLUOP_OMP_BUILD_CASE says

# The name of each dependency, and of its packages in Debian and Ubuntu, in Fedora, and in conda-forge.
set(mluop_packages_CXX           "a C++ compiler" "g++" "gcc-c++" "cxx-compiler c-compiler")
set(mluop_packages_OpenMP        "OpenMP" "libomp-dev" "libomp-devel" "llvm-openmp")
set(mluop_packages_spdlog        "spdlog" "libspdlog-dev" "spdlog-devel" "spdlog")
set(mluop_packages_hwy           "Highway 1.0 or newer" "libhwy-dev" "highway-devel" "libhwy")
set(mluop_packages_kissfft       "KissFFT" "libkissfft-dev" "kissfft-devel" "kissfft")
set(mluop_packages_GTest         "GoogleTest" "libgtest-dev libgmock-dev" "gtest-devel gmock-devel" "gtest gmock")
set(mluop_packages_benchmark     "Google Benchmark" "libbenchmark-dev" "google-benchmark-devel" "benchmark")
set(mluop_packages_CLI11         "CLI11" "libcli11-dev" "cli11-devel" "cli11")
set(mluop_packages_nlohmann_json "nlohmann-json" "nlohmann-json3-dev" "json-devel" "nlohmann_json")
set(mluop_packages_dnnl          "oneDNN" "libdnnl-dev" "onednn-devel" "onednn")
set(mluop_packages_Protobuf      "protobuf"
  "libprotobuf-dev protobuf-compiler" "protobuf-devel protobuf-compiler" "libprotobuf")
if(MLUOP_OMP_BUILD_WHEEL)
  set(mluop_packages_Protobuf "protobuf with its static library"
    "libprotobuf-dev protobuf-compiler" "protobuf-static protobuf-compiler" "libprotobuf-static")
endif()

# Prints a message, FATAL_ERROR or STATUS: `user` requires the packages that follow.
function(mluop_name_packages mode user)
  foreach(package IN LISTS ARGN)
    foreach(column IN ITEMS 0 1 2 3)
      list(GET mluop_packages_${package} ${column} name)
      list(APPEND names_${column} ${name})
    endforeach()
  endforeach()
  list(JOIN names_0 ", " names_0)
  foreach(column IN ITEMS 1 2 3)
    list(JOIN names_${column} " " names_${column})
  endforeach()
  message(${mode} "${user} requires ${names_0}: not found. Install\n"
    "  Debian, Ubuntu:  apt install ${names_1}\n"
    "  Fedora:          dnf install ${names_2}\n"
    "  conda-forge:     conda install -c conda-forge ${names_3}\n"
    "or, if it is installed, name its prefix in CMAKE_PREFIX_PATH.")
endfunction()

# A macro: the variables of the package are set in the caller's scope.
macro(mluop_find package)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    list(APPEND mluop_missing ${package})
  endif()
endmacro()

macro(mluop_find_header package file)
  find_path(${package}_INCLUDE_DIR ${file})
  if(NOT ${package}_INCLUDE_DIR)
    list(APPEND mluop_missing ${package})
  endif()
endmacro()

macro(mluop_require_found user)
  if(mluop_missing)
    mluop_name_packages(FATAL_ERROR "${user}" ${mluop_missing})
  endif()
endmacro()

# CMake's message does not name a package. A compiler given by name, as in the presets, must exist, too.
macro(mluop_enable_languages)
  include(CheckLanguage)
  foreach(mluop_language IN ITEMS C CXX)
    if(CMAKE_${mluop_language}_COMPILER)
      list(GET CMAKE_${mluop_language}_COMPILER 0 mluop_compiler)
      unset(mluop_compiler_path)
      find_program(mluop_compiler_path NAMES ${mluop_compiler} NO_CACHE)
      if(NOT mluop_compiler_path)
        mluop_name_packages(FATAL_ERROR "CMAKE_${mluop_language}_COMPILER=${mluop_compiler}: mluop-omp" CXX)
      endif()
    else()
      check_language(${mluop_language})
      if(NOT CMAKE_${mluop_language}_COMPILER)
        mluop_name_packages(FATAL_ERROR "mluop-omp" CXX)
      endif()
    endif()
    enable_language(${mluop_language})
  endforeach()
endmacro()

# A macro, as mluop_find. AUTO becomes ON or OFF: mluop_case is left out if a library is not installed or does not link,
# in other projects, and when cross-compiling, because protoc runs here.
macro(mluop_find_case)
  if(MLUOP_OMP_BUILD_CASE STREQUAL "AUTO" AND (NOT PROJECT_IS_TOP_LEVEL OR CMAKE_CROSSCOMPILING))
    set(MLUOP_OMP_BUILD_CASE OFF)
  endif()
  if(MLUOP_OMP_BUILD_CASE)
    if(MLUOP_OMP_BUILD_WHEEL)
      # The wheel requires no package of the system. A former configuration may have found the shared library.
      set(Protobuf_USE_STATIC_LIBS ON)
      unset(Protobuf_LIBRARY_RELEASE CACHE)
      unset(Protobuf_LIBRARY_DEBUG CACHE)
    endif()
    mluop_find(Protobuf)
    mluop_find(CLI11)
    mluop_find(nlohmann_json)
    if(Protobuf_FOUND)
      mluop_check_protobuf()
    endif()
    if(NOT MLUOP_OMP_BUILD_CASE STREQUAL "AUTO")
      mluop_require_found("MLUOP_OMP_BUILD_CASE=${MLUOP_OMP_BUILD_CASE}")
    elseif(mluop_missing)
      mluop_name_packages(STATUS "mluop_case, which is left out," ${mluop_missing})
      set(mluop_missing "")
      set(MLUOP_OMP_BUILD_CASE OFF)
    else()
      set(MLUOP_OMP_BUILD_CASE ON)
    endif()
  endif()
endmacro()

# FindProtobuf of CMake does not require protoc, and does not name the libraries that protobuf requires from version 22
# on.
macro(mluop_check_protobuf)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES protobuf::libprotobuf)
  unset(mluop_protobuf_links CACHE)
  check_cxx_source_compiles("
#include <google/protobuf/message.h>
int main() { return google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName({}) != nullptr; }"
    mluop_protobuf_links)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(NOT mluop_protobuf_links OR NOT TARGET protobuf::protoc)
    list(APPEND mluop_missing Protobuf)
  endif()
endmacro()
