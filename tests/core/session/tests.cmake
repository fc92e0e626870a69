# SPDX-License-Identifier: GPL-3.0-or-later
if(NOT QS_SANITIZE STREQUAL "thread") # the process that reads has one thread, and its filter denies what TSan asks for
  qs_add_test(session_file_test SOURCES session/session_file_test.cpp LIBS qs_core)
  add_dependencies(session_file_test quantscope-worker)
endif()
