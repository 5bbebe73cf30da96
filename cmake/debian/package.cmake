# CPack's .deb packages of the preset deb: libmluop-omp0.2, libmluop-omp-dev and mluop-omp-tools. check.sh tests them.
if(NOT BUILD_SHARED_LIBS OR NOT MLUOP_OMP_BUILD_CASE OR NOT MLUOP_OMP_BUILD_PERF)
  message(FATAL_ERROR "MLUOP_OMP_BUILD_DEB requires BUILD_SHARED_LIBS, MLUOP_OMP_BUILD_CASE and MLUOP_OMP_BUILD_PERF")
endif()
if(MLUOP_OMP_INSTALL_MLUOPS_NAME OR MLUOP_OMP_INSTALL_CNRT)
  message(FATAL_ERROR "MLUOP_OMP_BUILD_DEB requires MLUOP_OMP_INSTALL_MLUOPS_NAME and MLUOP_OMP_INSTALL_CNRT OFF: the "
    "names libmluops.so.1 and libcnrt.so belong to other software")
endif()

# DEBFULLNAME and DEBEMAIL name the maintainer, as for Debian's tools.
set(mluop_deb_name "$ENV{DEBFULLNAME}")
set(mluop_deb_email "$ENV{DEBEMAIL}")
if(mluop_deb_name STREQUAL "")
  set(mluop_deb_name "mluop-omp authors")
endif()
if(mluop_deb_email STREQUAL "")
  set(mluop_deb_email "mluop-omp@example.org")
endif()
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${mluop_deb_name} <${mluop_deb_email}>")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mluop-omp)
# CPack writes this text before the description of each component.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL runtime dev tools)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SOURCE mluop-omp)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_COMPONENT_DEV_DEPENDS runtime)
set(CPACK_COMPONENT_TOOLS_DEPENDS runtime)

set(mluop_deb_about
"mluop-omp runs the operators of 3-D perception networks, such as voxel
pooling, sparse convolution and rotated non-maximum suppression, on any CPU,
with the C API of MLU-OPS.
")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libmluop-omp${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "operators of 3-D perception networks on CPUs\n${mluop_deb_about}
This package has the shared library.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libmluop-omp-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_DESCRIPTION "operators of 3-D perception networks on CPUs, development files\n${mluop_deb_about}
This package has the headers and what CMake and pkg-config require.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME mluop-omp-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "operators of 3-D perception networks on CPUs, commands\n${mluop_deb_about}
This package has mluop_case, which runs, writes and reduces operator cases, and
mluop_perf, which measures the operators.")

set(control ${PROJECT_BINARY_DIR}/debian)
# dpkg-shlibdeps of other packages reads the symbols.
include(${PROJECT_SOURCE_DIR}/cmake/symbols.cmake)
set(released ${PROJECT_SOURCE_DIR}/src/mluop_omp.symbols)
mluop_new_symbols(new_symbols ${PROJECT_SOURCE_DIR}/include ${released} ${PROJECT_VERSION})
file(READ ${released} symbols)
file(CONFIGURE OUTPUT ${control}/symbols CONTENT "${symbols}${new_symbols}" @ONLY)
file(WRITE ${control}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${control}/symbols ${control}/triggers)
# CPack adds a postinst and a postrm that call ldconfig in any case.
file(WRITE ${control}/overrides "${CPACK_DEBIAN_RUNTIME_PACKAGE_NAME}: maintscript-calls-ldconfig\n")
install(FILES ${control}/overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
        RENAME ${CPACK_DEBIAN_RUNTIME_PACKAGE_NAME} COMPONENT runtime)

# The files in share/doc that Debian's policy requires of each package. SOURCE_DATE_EPOCH sets the date.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${control}/changelog
"mluop-omp (${PROJECT_VERSION}) unstable; urgency=medium

  * Version ${PROJECT_VERSION}. CHANGELOG.md of the sources lists the changes.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")
execute_process(COMMAND ${MLUOP_OMP_GZIP} -9nf ${control}/changelog COMMAND_ERROR_IS_FATAL ANY)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE license)
string(REGEX REPLACE "^MIT License\n\nCopyright \\(c\\) ([^\n]*)\n\n" "" license "${license}")
set(owner "${CMAKE_MATCH_1}")
string(REGEX REPLACE "\n\n" "\n.\n" license "${license}")
string(REGEX REPLACE "\n(.)" "\n \\1" license " ${license}")
# The library is compiled from headers of KissFFT.
file(READ /usr/share/doc/libkissfft-dev/copyright kissfft)
string(REGEX MATCH "License: BSD-3-clause\n Copyright.*" kissfft "${kissfft}")
file(WRITE ${control}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: mluop-omp

Files: *
Copyright: ${owner}
License: Expat

Files: src/ops/fft/signal.h
Copyright: 2003-2022, Mark Borgerding
License: BSD-3-clause
Comment: includes kissfft.hh of KissFFT

License: Expat
${license}
${kissfft}")
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  install(FILES ${control}/changelog.gz ${control}/copyright
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME} COMPONENT ${component})
endforeach()

include(CPack)
