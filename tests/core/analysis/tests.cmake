# SPDX-License-Identifier: GPL-3.0-or-later
foreach(test histogram analyse read sweep audit diff)
  qs_add_test(${test}_test SOURCES analysis/${test}_test.cpp LIBS qs_core)
endforeach()
