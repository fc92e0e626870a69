# SPDX-License-Identifier: GPL-3.0-or-later
# Compiler settings and dependencies of all targets.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
# A built file gets the run path of an installed one: none, or CMAKE_INSTALL_RPATH where a library lies in no folder of the system. Otherwise
# CMake ends the run path with a separator, and the loader takes the empty folder behind it for the current one: it would run a library that
# lies beside a downloaded model.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(QS_CCACHE ccache)
if(QS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${QS_CCACHE}")
endif()

# -ffp-contract=off: by default gcc fuses multiply and add on targets with FMA, which changes results.
add_compile_options(-Wall -Wextra -Wpedantic -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13 AND CMAKE_BUILD_TYPE STREQUAL "Release")
  # False warnings of gcc 12 about inlined std::string at -O3. Release builds are for users, so they are off there.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict> $<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overflow> $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds>)
endif()
add_compile_definitions(QT_NO_CAST_FROM_ASCII QT_NO_KEYWORDS)
if(QS_WERROR)
  add_compile_options(-Werror)
endif()
if(QS_SANITIZE)
  add_compile_options(-fsanitize=${QS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${QS_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang") # some versions of clang do not define these macros
    string(REPLACE "," ";" sanitizers "${QS_SANITIZE}")
    foreach(sanitizer IN LISTS sanitizers)
      string(TOUPPER "${sanitizer}" sanitizer)
      add_compile_definitions(__SANITIZE_${sanitizer}__)
    endforeach()
  endif()
endif()
# Pointer checks double the compile time. They stay on for code that reads untrusted bytes (core/base, core/process, core/model). Elsewhere
# AddressSanitizer finds bad pointers.
set(QS_LESS_UBSAN "")
set(QS_SIMD_SANITIZE "")
if(QS_SANITIZE MATCHES undefined)
  set(QS_LESS_UBSAN -fno-sanitize=null,alignment,vptr,object-size)
endif()
if(QS_SANITIZE MATCHES address) # g++ compiles the kernels with every compiler setting
  # Function calls instead of inlined checks: each unrolled file compiles a minute faster, other files in three quarters of the time.
  set(QS_SIMD_SANITIZE ${QS_LESS_UBSAN} --param=asan-instrumentation-with-call-threshold=50)
endif()

# lld links several times faster than GNU ld.
if(QS_TESTS OR QS_FUZZ)
  find_program(QS_LLD ld.lld HINTS /usr/lib/llvm-16/bin)
  if(QS_LLD)
    get_filename_component(directory "${QS_LLD}" DIRECTORY)
    add_link_options(-fuse-ld=lld "-B${directory}")
  endif()
endif()

# qs_precompile(target HEADER...): precompiles the headers that most files of the target include. -fno-pch-timestamp makes clang's output
# reproducible, so that ccache can compare it by content.
function(qs_precompile target)
  if(QS_PCH)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>)
  endif()
endfunction()
# qs_precompile_like(target other): uses the precompiled header of `other`. Both targets need the same compile options.
function(qs_precompile_like target other)
  if(QS_PCH)
    target_precompile_headers(${target} REUSE_FROM ${other})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>)
  endif()
endfunction()
set(QS_STANDARD_HEADERS <algorithm> <array> <atomic> <chrono> <cmath> <filesystem> <functional> <map> <memory> <mutex>
  <optional> <set> <span> <string> <string_view> <vector>)

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Qt6 6.2 REQUIRED COMPONENTS Core)
find_package(fmt REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(ZLIB REQUIRED)
pkg_check_modules(BLOSC REQUIRED IMPORTED_TARGET blosc)
pkg_check_modules(PROTOBUF_LITE REQUIRED IMPORTED_TARGET protobuf-lite)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
find_package(CLI11 REQUIRED)
pkg_check_modules(FLATBUFFERS REQUIRED flatbuffers)
pkg_check_modules(HDF5 REQUIRED IMPORTED_TARGET hdf5)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
pkg_check_modules(PDF REQUIRED IMPORTED_TARGET cairo-pdf pangocairo librsvg-2.0)
# -pthread, its only option, defines _REENTRANT, with which the precompiled header that all of core shares is refused.
set_target_properties(PkgConfig::PDF PROPERTIES INTERFACE_COMPILE_OPTIONS "")
