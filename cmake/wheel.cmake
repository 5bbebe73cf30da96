# Installs the library, and mluop_case if it is built, into the Python package, as the component `python`. A wheel holds
# all dependencies of both, except the libraries of the compiler, which systems have, and OpenMP: a process has one
# runtime.
if(NOT BUILD_SHARED_LIBS)
  message(FATAL_ERROR "MLUOP_OMP_BUILD_WHEEL requires BUILD_SHARED_LIBS")
endif()
# What pyproject.toml builds.
add_custom_target(mluop_wheel)

# Installs a library or a program into the package. The arguments that follow are the packages of Debian, without -dev,
# whose code it contains.
function(mluop_add_to_wheel target)
  add_dependencies(mluop_wheel ${target})
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS ${target} COMPONENT python LIBRARY DESTINATION mluop_omp RUNTIME DESTINATION mluop_omp)
  target_link_options(${target} PRIVATE LINKER:--as-needed)
  if(NOT MLUOP_OMP_MANYLINUX)
    return()
  endif()
  # cmake/wheels.sh: for systems with older C and C++ libraries than this one. Exceptions do not leave the
  # library, so that another C++ library in the process does not matter.
  set(replacements ${PROJECT_SOURCE_DIR}/cmake/glibc_2_27.c)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    list(APPEND replacements ${PROJECT_SOURCE_DIR}/cmake/glibc_2_27_start.c)
  endif()
  target_sources(${target} PRIVATE ${replacements})
  set_source_files_properties(${replacements} TARGET_DIRECTORY ${target}
    PROPERTIES COMPILE_OPTIONS "-fno-builtin;-fvisibility=hidden")
  target_link_options(${target} PRIVATE -static-libstdc++)
  foreach(package IN LISTS ARGN)
    install(FILES /usr/share/doc/${package}-dev/copyright RENAME ${package}.txt
            DESTINATION ${SKBUILD_METADATA_DIR}/licenses COMPONENT python)
  endforeach()
endfunction()

# The library is one file: wheels cannot hold symbolic links.
set_property(TARGET mluop_omp PROPERTY VERSION)
set_property(TARGET mluop_omp PROPERTY SOVERSION)
target_compile_definitions(mluop_omp_objects PRIVATE FMT_HEADER_ONLY=1)
mluop_add_to_wheel(mluop_omp libhwy libspdlog libfmt libkissfft)
if(MLUOP_OMP_MANYLINUX)
  # Highway's license is Apache 2.0.
  install(FILES /usr/share/common-licenses/Apache-2.0 RENAME Apache-2.0.txt
          DESTINATION ${SKBUILD_METADATA_DIR}/licenses COMPONENT python)
endif()
get_target_property(hwy_type hwy::hwy TYPE)
if(hwy_type STREQUAL SHARED_LIBRARY)
  install(FILES $<TARGET_FILE:hwy::hwy> RENAME $<TARGET_SONAME_FILE_NAME:hwy::hwy>
          DESTINATION mluop_omp COMPONENT python)
endif()
