# assay_emulate_cuda(TARGET kernels.cu ...): adds CUDA source to a target of C++, compiled for the emulation, so that it runs without a GPU, a
# driver and the toolkit. What else the target compiles sees the emulation as <cuda_runtime.h>, too.
#
# Every access of the kernels is watched: -fsanitize=thread has the compiler call a function before each, and no sanitizer is linked. One
# level of optimisation is enough for that; more would only move what is watched.
function(assay_emulate_cuda TARGET)
  set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/emulate_cuda.cmake)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
    message(FATAL_ERROR "assay_emulate_cuda: GCC or Clang, not ${CMAKE_CXX_COMPILER_ID}")
  endif()
  set(options "-O1;-g;-fno-sanitize=all;-fsanitize=thread,bounds;-Wno-unknown-pragmas;-ffp-contract=off")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # y[i] += x[i] reads, too, which only matters where nobody wrote y[i]
    list(APPEND options -mllvm -tsan-instrument-read-before-write=1)
  endif()
  foreach(source IN LISTS ARGN)
    get_filename_component(source ${source} ABSOLUTE)
    get_filename_component(folder ${source} DIRECTORY)
    get_filename_component(name ${source} NAME)
    set(emulated ${CMAKE_CURRENT_BINARY_DIR}/emulated/${TARGET}/${name}.cpp)
    add_custom_command(OUTPUT ${emulated} DEPENDS ${source} ${script} VERBATIM
                       COMMAND ${CMAKE_COMMAND} -DIN=${source} -DOUT=${emulated} -P ${script})
    target_sources(${TARGET} PRIVATE ${emulated})
    set_source_files_properties(${emulated} PROPERTIES INCLUDE_DIRECTORIES ${folder} SKIP_UNITY_BUILD_INCLUSION ON
      COMPILE_OPTIONS "${options}")
  endforeach()
  target_link_libraries(${TARGET} PRIVATE assay::cuda_emulation)
endfunction()
