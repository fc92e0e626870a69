# SPDX-License-Identifier: GPL-3.0-or-later
# Compiles the NEON sources for aarch64 with clang, if clang is installed. Headers of aarch64 Linux are not needed: the headers of this
# system are used with another word size. Usage: cmake -DROOT= -DWORK= -DINCLUDES= -P neon_compiles.cmake
find_program(clang NAMES clang++-16 clang++)
if(NOT clang)
  message("skipped: there is no clang++-16 (packaging/install-deps --test)")
  return()
endif()
file(WRITE "${WORK}/neon/gnu/stubs-32.h" "")
file(WRITE "${WORK}/neon/bits/wordsize.h"
  "#define __WORDSIZE 64\n#define __WORDSIZE_TIME64_COMPAT32 0\n#define __SYSCALL_WORDSIZE 64\n")
set(flags --target=aarch64-linux-gnu -std=c++20 -ffp-contract=off -Wall -Wextra -Werror -Wno-psabi -nostdinc++
  "-I${ROOT}" -isystem "${WORK}/neon")
foreach(folder IN LISTS INCLUDES)
  if(NOT folder MATCHES "/gcc/") # clang needs its own headers for intrinsics
    list(APPEND flags -isystem "${folder}")
  endif()
endforeach()
file(GLOB sources "${ROOT}/kernels/simd/*neon*.cpp")
list(LENGTH sources count)
if(count LESS 2)
  message(FATAL_ERROR "there are no NEON sources in ${ROOT}/kernels/simd")
endif()
foreach(source IN LISTS sources)
  execute_process(COMMAND "${clang}" ${flags} -fsyntax-only "${source}" RESULT_VARIABLE result ERROR_VARIABLE said)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${source} does not compile for aarch64:\n${said}")
  endif()
endforeach()
