# SPDX-License-Identifier: GPL-3.0-or-later
# QS_CUDA: AUTO builds the CUDA kernels if nvcc 12 or newer and the headers of cuBLASLt are found. ON fails without them. OFF does not look
# for them. nvcc is called as a command, not as a CMake language, so that the options of the C++ code do not reach it. The build needs the
# toolkit, the program does not: cudart is linked statically; the driver, cuBLAS and cuBLASLt are loaded when the backend is opened.
set(QS_CUDA AUTO CACHE STRING "CUDA kernels: AUTO (where nvcc 12 is found), ON (it must be found) or OFF")
set(QS_CUDA_ARCHITECTURES 80 89 90 CACHE STRING "Compute capabilities to compile for")
set(QS_CUDA_FOUND OFF)
set(qs_cuda_missing "")
if(QS_CUDA)
  find_program(QS_NVCC nvcc HINTS "$ENV{CUDA_PATH}/bin" "$ENV{CUDACXX}" PATHS /usr/local/cuda/bin)
  if(QS_NVCC)
    execute_process(COMMAND "${QS_NVCC}" --version OUTPUT_VARIABLE said ERROR_QUIET)
    string(REGEX MATCH "release ([0-9]+)[.]([0-9]+)" found "${said}")
    set(QS_NVCC_VERSION "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}")
    get_filename_component(root "${QS_NVCC}" REALPATH)
    get_filename_component(root "${root}/../.." ABSOLUTE)
    find_path(QS_CUDA_INCLUDE cublasLt.h HINTS "${root}/include" "${root}/targets/x86_64-linux/include")
    find_library(QS_CUDART_STATIC libcudart_static.a HINTS "${root}/lib64" "${root}/lib" "${root}/targets/x86_64-linux/lib")
    if(NOT QS_NVCC_VERSION VERSION_GREATER_EQUAL 12)
      set(qs_cuda_missing "nvcc ${QS_NVCC_VERSION} is older than 12")
    elseif(NOT QS_CUDA_INCLUDE OR NOT QS_CUDART_STATIC)
      set(qs_cuda_missing "nvcc ${QS_NVCC_VERSION} comes without cublasLt.h or libcudart_static.a")
    else()
      set(QS_CUDA_FOUND ON)
    endif()
  else()
    set(qs_cuda_missing "nvcc was not found")
  endif()
  if(NOT QS_CUDA_FOUND AND QS_CUDA STREQUAL "ON")
    message(FATAL_ERROR "QS_CUDA=ON, but ${qs_cuda_missing}")
  endif()
endif()
if(QS_CUDA_FOUND)
  message(STATUS "CUDA: nvcc ${QS_NVCC_VERSION} for ${QS_CUDA_ARCHITECTURES}")
else()
  message(STATUS "CUDA: not built (${qs_cuda_missing})")
endif()

# qs_add_cuda_library(name SOURCES a.cu ...): a static library of position-independent objects. It also contains the PTX text of each source
# for the newest architecture; see kernels/cuda/ptx.h.
function(qs_add_cuda_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  set(architectures "")
  foreach(architecture ${QS_CUDA_ARCHITECTURES})
    list(APPEND architectures "-gencode=arch=compute_${architecture},code=sm_${architecture}")
    set(newest ${architecture})
  endforeach()
  list(APPEND architectures "-gencode=arch=compute_${newest},code=compute_${newest}") # PTX for later architectures
  set(strict "")
  if(QS_WERROR)
    set(strict -Werror all-warnings)
  endif()
  set(launcher "")
  if(QS_CCACHE)
    set(launcher "${QS_CCACHE}")
  endif()
  set(objects "")
  set(texts "")
  foreach(source ${ARG_SOURCES})
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${source}.o")
    add_custom_command(OUTPUT "${object}"
      COMMAND ${launcher} "${QS_NVCC}" -c "${CMAKE_CURRENT_SOURCE_DIR}/${source}" -o "${object}" -MD -MF "${object}.d"
        -std=c++20 -O3 -fmad=false ${strict} --expt-relaxed-constexpr ${architectures} "-I${CMAKE_SOURCE_DIR}"
        -ccbin "${CMAKE_CXX_COMPILER}" -Xcompiler=-fPIC,-fvisibility=hidden,-Wall,-Wextra
      # nvcc names temporary files after its process in the table of symbols, so two builds would differ
      COMMAND "${CMAKE_STRIP}" --strip-unneeded "${object}"
      DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${source}" DEPFILE "${object}.d" COMMENT "nvcc ${source}" VERBATIM)
    list(APPEND objects "${object}")
    set(ptx "${CMAKE_CURRENT_BINARY_DIR}/${source}.ptx")
    add_custom_command(OUTPUT "${ptx}"
      COMMAND ${launcher} "${QS_NVCC}" -ptx "${CMAKE_CURRENT_SOURCE_DIR}/${source}" -o "${ptx}" -MD -MF "${ptx}.d"
        -std=c++20 -O3 -fmad=false --expt-relaxed-constexpr -arch=compute_${newest} "-I${CMAKE_SOURCE_DIR}"
        -ccbin "${CMAKE_CXX_COMPILER}"
      DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${source}" DEPFILE "${ptx}.d" COMMENT "nvcc ${source} to PTX" VERBATIM)
    list(APPEND texts "${ptx}")
  endforeach()
  # .incbin puts the PTX files into the program unchanged.
  set(assembly "")
  set(names "")
  foreach(ptx ${texts})
    get_filename_component(symbol "${ptx}" NAME)
    string(MAKE_C_IDENTIFIER "qs_${symbol}" symbol)
    string(APPEND assembly "asm(\".section .rodata\\n.hidden ${symbol}\\n.global ${symbol}\\n${symbol}:\\n.incbin \\\"${ptx}\\\"\\n.byte 0\\n.previous\");\n"
      "extern \"C\" const char ${symbol}[];\n")
    string(APPEND names "${symbol}, ")
  endforeach()
  set(embedded "${CMAKE_CURRENT_BINARY_DIR}/${name}_ptx.cpp")
  file(GENERATE OUTPUT "${embedded}" CONTENT "#include \"kernels/cuda/ptx.h\"\n${assembly}
namespace qs::cuda {
std::vector<const char*> ptxTexts() { return {${names}}; }
} // namespace qs::cuda
")
  set_source_files_properties("${embedded}" PROPERTIES OBJECT_DEPENDS "${texts}" GENERATED TRUE)
  add_library(${name} STATIC ${objects} "${embedded}")
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(${name} PUBLIC "${CMAKE_SOURCE_DIR}")
  target_include_directories(${name} SYSTEM PUBLIC "${QS_CUDA_INCLUDE}")
  target_link_libraries(${name} PUBLIC "${QS_CUDART_STATIC}" Threads::Threads ${CMAKE_DL_LIBS} rt)
endfunction()
