# cmake --install: programs, static libraries, headers with what they include, man pages, completions, a CMake package and pkg-config
# files; and the same as a Debian package (cpack -G DEB).
#
# Components of the package: check and trace and testing, each a target assay::COMPONENT; core is what all of them link.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(ASSAY_CORE_LAYERS semantics floats relax policy logic)
set(ASSAY_CHECK_LAYERS frontends kernel_inspect certificate_format certificate_check check)
set(ASSAY_TRACE_LAYERS formats trace)
set(ASSAY_TESTING_LAYERS gradients audit runtime probes explain reports emulation cuda_emulation testing)
set(ASSAY_TESTING_NEEDS trace)  # another component
set(ASSAY_CORE_PACKAGES PkgConfig::MPFR PkgConfig::GMP)
set(ASSAY_CHECK_PACKAGES ZLIB::ZLIB)
set(ASSAY_TRACE_PACKAGES ZLIB::ZLIB)
set(ASSAY_TESTING_PACKAGES ZLIB::ZLIB Threads::Threads PkgConfig::HWY DNNL::dnnl OpenMP::OpenMP_CXX)
# For pkg-config: other modules, and libraries that have none.
set(ASSAY_CHECK_REQUIRES "mpfr gmp zlib")
set(ASSAY_TRACE_REQUIRES "mpfr gmp zlib")
set(ASSAY_TESTING_REQUIRES "mpfr gmp zlib libhwy")
set(ASSAY_TESTING_LIBRARIES "-ldnnl -fopenmp -pthread")
set(ASSAY_CHECK_TEXT "Decides certificates of neural networks")
set(ASSAY_TRACE_TEXT "Reads and writes recorded runs of neural networks")
set(ASSAY_TESTING_TEXT "Matchers for results, gradients and kernels of neural networks")
# Headers for others; what they include is installed with them.
set(ASSAY_CHECK_HEADERS assay/check.h semantics/statement/statement_text.h semantics/interrupt.h)
set(ASSAY_TRACE_HEADERS assay/trace.h)
set(ASSAY_TESTING_HEADERS assay/testing.h assay/cuda_testing.h gpu/cuda/cuda_runtime.h gpu/cuda/cuda_fp16.h kernel/audit/audit.h kernel/audit/gradients.h)

set(components check trace testing)
if(ASSAY_TRUSTED_ONLY)
  set(components check)
endif()
# From the folder of the pkg-config files to the prefix: the installed tree can be moved.
file(RELATIVE_PATH PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" PC_UP ${PC_UP})
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/assay)

# One set of targets each; a static library lists what it links in the order of the linker, dependents first.
set(headers "")
set(ASSAY_PACKAGE_TABLE "")
set(core_libraries "-lassay_logic -lassay_policy -lassay_relax -lassay_floats -lassay_semantics")
foreach(component core ${components})
  string(TOUPPER ${component} COMPONENT)
  set(targets "")
  set(libraries "")
  foreach(layer IN LISTS ASSAY_${COMPONENT}_LAYERS)
    list(APPEND targets assay_${layer})
    get_target_property(type assay_${layer} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      string(PREPEND libraries "-lassay_${layer} ")
    endif()
  endforeach()
  foreach(needed IN LISTS ASSAY_${COMPONENT}_NEEDS)
    string(APPEND libraries "${${needed}_libraries}")
  endforeach()
  set(${component}_libraries "${libraries}")
  list(APPEND headers ${ASSAY_${COMPONENT}_HEADERS})
  install(TARGETS ${targets} EXPORT assay-${component} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT assay-${component} NAMESPACE assay:: DESTINATION ${package_folder})
  string(APPEND ASSAY_PACKAGE_TABLE "set(assay_packages_${component} ${ASSAY_${COMPONENT}_PACKAGES})\nset(assay_needs_${component} ${ASSAY_${COMPONENT}_NEEDS})\n")
  if(NOT component STREQUAL "core")
    set(PC_NAME assay-${component})
    set(PC_TEXT ${ASSAY_${COMPONENT}_TEXT})
    set(PC_REQUIRES ${ASSAY_${COMPONENT}_REQUIRES})
    set(PC_LIBRARIES "${libraries}${core_libraries} ${ASSAY_${COMPONENT}_LIBRARIES}")
    configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/assay.pc.in ${PROJECT_BINARY_DIR}/package/assay-${component}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/package/assay-${component}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endif()
endforeach()
string(REPLACE ";" " " ASSAY_COMPONENTS "${components}")
configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/assayConfig.cmake.in ${PROJECT_BINARY_DIR}/package/assayConfig.cmake
                              INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/assayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/assayConfig.cmake ${PROJECT_BINARY_DIR}/package/assayConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/tools/cmake/AssayPackages.cmake ${PROJECT_SOURCE_DIR}/tools/cmake/AssayEmulateCuda.cmake
              ${PROJECT_SOURCE_DIR}/tools/cmake/emulate_cuda.cmake DESTINATION ${package_folder})

# Which headers the public ones include is looked up when they are installed.
install(CODE "set(ASSAY_ROOT \"${PROJECT_SOURCE_DIR}\")\nset(ASSAY_HEADERS \"${headers}\")\nset(ASSAY_HEADER_FOLDER \"${CMAKE_INSTALL_INCLUDEDIR}/assay\")")
install(SCRIPT ${PROJECT_SOURCE_DIR}/tools/cmake/install_headers.cmake)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/TRUST.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# What the programs' messages cite, under the names that they cite.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN man EXCLUDE PATTERN completions EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/certificates/FORMAT.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/certificates)
if(ASSAY_PROGRAMS)
  install(TARGETS assay-check RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(NOT ASSAY_TRUSTED_ONLY)
    install(TARGETS assay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(PROGRAMS ${PROJECT_SOURCE_DIR}/tools/replay_witness DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME assay-replay-witness)
    install(FILES ${PROJECT_SOURCE_DIR}/docs/man/assay.1 ${PROJECT_SOURCE_DIR}/docs/man/assay-check.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(CODE [[
      set(ASSAY_ZSH_FOLDER site-functions)
      if(CMAKE_INSTALL_PREFIX MATCHES "/usr$" AND EXISTS /etc/debian_version)  # where its zsh looks
        set(ASSAY_ZSH_FOLDER vendor-completions)
      endif()
    ]])
    foreach(program assay assay-check)
      install(FILES ${PROJECT_SOURCE_DIR}/docs/completions/${program}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program})
      install(FILES ${PROJECT_SOURCE_DIR}/docs/completions/_${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/\${ASSAY_ZSH_FOLDER})
    endforeach()
  endif()
endif()

if(PROJECT_IS_TOP_LEVEL AND ASSAY_PROGRAMS AND NOT ASSAY_TRUSTED_ONLY)
  set(CPACK_PACKAGE_NAME assay)
  set(CPACK_PACKAGE_VENDOR assay)
  set(CPACK_PACKAGE_CONTACT "the authors of Assay <assay@localhost>")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
  set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES OFF)  # names of functions in a report of a crash
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION math)
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libmpfr-dev, libgmp-dev, zlib1g-dev, libhwy-dev, libdnnl-dev")  # to link the libraries
  find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
  mark_as_advanced(DPKG_SHLIBDEPS)
  if(DPKG_SHLIBDEPS)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  endif()
  include(CPack)
endif()
