# Installs three components: `runtime`, the shared library; `dev`, headers, the CMake package, whose target is
# mluop_omp::mluop_omp, and a file for pkg-config; `tools`, the commands that are built.
include(CMakePackageConfigHelpers)

install(TARGETS mluop_omp EXPORT mluop_omp_targets
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev
  ARCHIVE COMPONENT dev
  FILE_SET public_headers COMPONENT dev)
install(EXPORT mluop_omp_targets NAMESPACE mluop_omp::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mluop_omp COMPONENT dev)
configure_package_config_file(cmake/mluop_omp-config.cmake.in
  ${PROJECT_BINARY_DIR}/mluop_omp-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mluop_omp)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mluop_omp-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mluop_omp-config.cmake
              ${PROJECT_BINARY_DIR}/mluop_omp-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mluop_omp COMPONENT dev)

# The prefix is relative to the file, so that the installation can be moved. In Debian's packages it is absolute: the
# compiler searches their folders anyway. The shared library is linked with its dependencies; the static one requires
# them, and the runtime libraries of C++ and OpenMP, in the consumer's link step.
if(MLUOP_OMP_BUILD_DEB)
  set(mluop_omp_pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH mluop_omp_pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "(.*[^/])/*$" "\${pcfiledir}/\\1" mluop_omp_pc_prefix ${mluop_omp_pc_prefix})
endif()
set(mluop_omp_pc_requires "")
set(mluop_omp_pc_libs "")
if(NOT BUILD_SHARED_LIBS)
  set(mluop_omp_pc_requires "spdlog libhwy")
  # libomp is in a folder that clang searches only with -fopenmp.
  foreach(library IN LISTS OpenMP_CXX_LIB_NAMES)
    cmake_path(GET OpenMP_${library}_LIBRARY PARENT_PATH folder)
    if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
      string(APPEND mluop_omp_pc_libs " -L${folder}")
    endif()
    string(APPEND mluop_omp_pc_libs " -l${library}")
  endforeach()
  set(libraries ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
  list(FILTER libraries INCLUDE REGEX "^(stdc\\+\\+|c\\+\\+|c\\+\\+abi|m)$")
  list(REMOVE_DUPLICATES libraries)
  list(TRANSFORM libraries PREPEND " -l")
  string(APPEND mluop_omp_pc_libs ${libraries})
endif()
configure_file(cmake/mluop_omp.pc.in ${PROJECT_BINARY_DIR}/mluop_omp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mluop_omp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

if(MLUOP_OMP_INSTALL_MLUOPS_NAME)
  install(TARGETS mluop_omp_mluops LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev)
endif()
if(MLUOP_OMP_INSTALL_CNRT)
  install(TARGETS mluop_omp_cnrt
    LIBRARY COMPONENT runtime
    ARCHIVE COMPONENT dev
    FILE_SET public_headers COMPONENT dev)
endif()

# Installs a command, which finds the installed library, and its man page, made of the help of the command and of its
# subcommands. Making the page runs the command, so cross-compiled builds and builds with sanitizers have none.
function(mluop_install_command command)
  file(RELATIVE_PATH to_libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(${command} PROPERTIES INSTALL_RPATH "$ORIGIN/${to_libraries}")
  install(TARGETS ${command} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  if(CMAKE_CROSSCOMPILING OR CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    return()
  endif()
  set(page ${CMAKE_CURRENT_BINARY_DIR}/${command}.1)
  # As Debian's policy requires.
  set(compressed "")
  if(MLUOP_OMP_BUILD_DEB)
    set(compressed .gz)
    find_program(MLUOP_OMP_GZIP gzip REQUIRED)
    set(compress COMMAND ${MLUOP_OMP_GZIP} -9nf ${page})
  endif()
  add_custom_command(OUTPUT ${page}${compressed}
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${command}> "-DSUBCOMMANDS=${ARGN}" -DVERSION=${PROJECT_VERSION}
            -DPAGE=${page} -P ${PROJECT_SOURCE_DIR}/cmake/man_page.cmake
    ${compress}
    DEPENDS ${command} ${PROJECT_SOURCE_DIR}/cmake/man_page.cmake VERBATIM)
  add_custom_target(${command}_man_page ALL DEPENDS ${page}${compressed})
  install(FILES ${page}${compressed} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
endfunction()
