# Installs headers, library and the CMake package: find_package(mluop_omp) gives mluop_omp::mluop_omp.
include(CMakePackageConfigHelpers)

install(TARGETS mluop_omp EXPORT mluop_omp_targets FILE_SET public_headers)
install(EXPORT mluop_omp_targets NAMESPACE mluop_omp::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mluop_omp)
configure_package_config_file(cmake/mluop_omp-config.cmake.in
  ${PROJECT_BINARY_DIR}/mluop_omp-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mluop_omp)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mluop_omp-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mluop_omp-config.cmake
              ${PROJECT_BINARY_DIR}/mluop_omp-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mluop_omp)

if(MLUOP_OMP_INSTALL_MLUOPS_NAME)
  if(NOT BUILD_SHARED_LIBS)
    message(FATAL_ERROR "MLUOP_OMP_INSTALL_MLUOPS_NAME requires BUILD_SHARED_LIBS")
  endif()
  file(CREATE_LINK libmluop_omp.so ${PROJECT_BINARY_DIR}/libmluops.so SYMBOLIC)
  install(FILES ${PROJECT_BINARY_DIR}/libmluops.so DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
