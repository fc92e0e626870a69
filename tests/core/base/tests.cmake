# SPDX-License-Identifier: GPL-3.0-or-later
foreach(test text column parallel nearest_word)
  qs_add_test(${test}_test SOURCES base/${test}_test.cpp LIBS qs_core)
endforeach()
