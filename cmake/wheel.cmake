# Installs the library into the Python package, as the component `python`. A wheel holds all dependencies of the
# library, except the libraries of the compiler, which systems have, and OpenMP: a process has one runtime.
if(NOT BUILD_SHARED_LIBS)
  message(FATAL_ERROR "MLUOP_OMP_BUILD_WHEEL requires BUILD_SHARED_LIBS")
endif()
# The library is one file: wheels cannot hold symbolic links.
set_property(TARGET mluop_omp PROPERTY VERSION)
set_property(TARGET mluop_omp PROPERTY SOVERSION)
set_target_properties(mluop_omp PROPERTIES INSTALL_RPATH "$ORIGIN")
target_compile_definitions(mluop_omp_objects PRIVATE FMT_HEADER_ONLY=1)
target_link_options(mluop_omp PRIVATE LINKER:--as-needed)
# cmake/wheels.sh: for systems with older C and C++ libraries than this one. Exceptions do not leave the
# library, so that another C++ library in the process does not matter.
if(MLUOP_OMP_MANYLINUX)
  target_sources(mluop_omp PRIVATE ${PROJECT_SOURCE_DIR}/cmake/glibc_2_27.c)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/cmake/glibc_2_27.c
    TARGET_DIRECTORY mluop_omp PROPERTIES COMPILE_OPTIONS -fno-builtin)
  target_link_options(mluop_omp PRIVATE -static-libstdc++)
  # The licenses of what the wheel contains, of Debian's packages: Highway's is Apache 2.0.
  set(licenses ${SKBUILD_METADATA_DIR}/licenses)
  foreach(package IN ITEMS libhwy libspdlog libfmt)
    install(FILES /usr/share/doc/${package}-dev/copyright RENAME ${package}.txt DESTINATION ${licenses} COMPONENT python)
  endforeach()
  install(FILES /usr/share/common-licenses/Apache-2.0 RENAME Apache-2.0.txt DESTINATION ${licenses} COMPONENT python)
endif()
install(TARGETS mluop_omp LIBRARY DESTINATION mluop_omp COMPONENT python)
get_target_property(hwy_type hwy::hwy TYPE)
if(hwy_type STREQUAL SHARED_LIBRARY)
  install(FILES $<TARGET_FILE:hwy::hwy> RENAME $<TARGET_SONAME_FILE_NAME:hwy::hwy>
          DESTINATION mluop_omp COMPONENT python)
endif()
