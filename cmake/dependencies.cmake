# Searches the dependencies of the build, and names the packages of missing ones:
#
#   mluop_find(hwy)                     find_package(), of one of the packages below
#   mluop_require_found("The library")  ends the configuration if an mluop_find() since the last one failed
#   mluop_enable_languages()            compilers of C and C++

# The name of each dependency, and of its packages in Debian and Ubuntu, in Fedora, and in conda-forge.
set(mluop_packages_CXX           "a C++ compiler" "g++" "gcc-c++" "cxx-compiler c-compiler")
set(mluop_packages_OpenMP        "OpenMP" "libomp-dev" "libomp-devel" "llvm-openmp")
set(mluop_packages_spdlog        "spdlog" "libspdlog-dev" "spdlog-devel" "spdlog")
set(mluop_packages_hwy           "Highway 1.0 or newer" "libhwy-dev" "highway-devel" "libhwy")
set(mluop_packages_GTest         "GoogleTest" "libgtest-dev libgmock-dev" "gtest-devel gmock-devel" "gtest gmock")
set(mluop_packages_benchmark     "Google Benchmark" "libbenchmark-dev" "google-benchmark-devel" "benchmark")
set(mluop_packages_CLI11         "CLI11" "libcli11-dev" "cli11-devel" "cli11")
set(mluop_packages_nlohmann_json "nlohmann-json" "nlohmann-json3-dev" "json-devel" "nlohmann_json")
set(mluop_packages_dnnl          "oneDNN" "libdnnl-dev" "onednn-devel" "onednn")
set(mluop_packages_Protobuf      "protobuf"
  "libprotobuf-dev protobuf-compiler" "protobuf-devel protobuf-compiler" "libprotobuf")

# Ends the configuration: `user` requires the packages that follow.
function(mluop_name_packages user)
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
  message(FATAL_ERROR "${user} requires ${names_0}: not found. Install\n"
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

macro(mluop_require_found user)
  if(mluop_missing)
    mluop_name_packages("${user}" ${mluop_missing})
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
        mluop_name_packages("CMAKE_${mluop_language}_COMPILER=${mluop_compiler}: mluop-omp" CXX)
      endif()
    else()
      check_language(${mluop_language})
      if(NOT CMAKE_${mluop_language}_COMPILER)
        mluop_name_packages("mluop-omp" CXX)
      endif()
    endif()
    enable_language(${mluop_language})
  endforeach()
endmacro()
