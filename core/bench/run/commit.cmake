# SPDX-License-Identifier: GPL-3.0-or-later
# cmake -DSOURCE=. -DOUT=commit.h -P commit.cmake: writes the current commit to a header. The file is only written if it changes.
find_program(GIT git)
set(commit "")
if(GIT)
  execute_process(COMMAND ${GIT} -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude "*"
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(text "#define QS_COMMIT \"${commit}\"\n")
set(old "")
if(EXISTS "${OUT}")
  file(READ "${OUT}" old)
endif()
if(NOT old STREQUAL text)
  file(WRITE "${OUT}" "${text}")
endif()
