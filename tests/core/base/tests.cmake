# SPDX-License-Identifier: GPL-3.0-or-later
foreach(test text column nearest_word)
  qs_add_test(${test}_test SOURCES base/${test}_test.cpp LIBS qs_core ONE_THREAD)
endforeach()
qs_add_test(parallel_test SOURCES base/parallel_test.cpp LIBS qs_core)
