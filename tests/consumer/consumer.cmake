# Another project's use of this one: installed and as a subdirectory. What the first test of each way makes, the others look at.
function(consumer_test PART WORDS LABELS)
  add_test(NAME "consumer: ${WORDS}"
           COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/consumer/consumer_test.py --root ${PROJECT_SOURCE_DIR} --build ${PROJECT_BINARY_DIR}
                   --cxx ${CMAKE_CXX_COMPILER} ${PART})
  set_tests_properties("consumer: ${WORDS}" PROPERTIES LABELS "${LABELS}" TIMEOUT 900 SKIP_REGULAR_EXPRESSION "^skipped" ${ARGN})
endfunction()

if(ASSAY_INSTALL AND NOT ASSAY_SANITIZE)
  consumer_test(install "install, then find_package" "consumer" FIXTURES_SETUP installed)
  foreach(part decides traces catch2 googletest)
    consumer_test(installed_${part} "installed: ${part}" "consumer" FIXTURES_REQUIRED installed)
  endforeach()
  foreach(part files headers pkg_config components)
    consumer_test(${part} "installed: ${part}" "consumer" FIXTURES_REQUIRED installed)
  endforeach()
  consumer_test(cuda_kernels "installed: kernels in CUDA on the emulation" "consumer;gpu" FIXTURES_REQUIRED installed)
  consumer_test(nvcc_kernels "installed: kernels in CUDA by nvcc" "consumer;gpu" FIXTURES_REQUIRED installed)
  consumer_test(debian "Debian package" "consumer;slow" FIXTURES_REQUIRED installed)
  consumer_test(subdirectory "as a subdirectory" "consumer;slow" FIXTURES_SETUP subdirectory)
  foreach(part decides traces)
    consumer_test(subdirectory_${part} "subdirectory: ${part}" "consumer;slow" FIXTURES_REQUIRED subdirectory)
  endforeach()
endif()
