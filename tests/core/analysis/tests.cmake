# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_test(histogram_test SOURCES analysis/histogram_test.cpp LIBS qs_core ONE_THREAD)
foreach(test analyse read sweep)
  qs_add_test(${test}_test SOURCES analysis/${test}_test.cpp LIBS qs_core)
endforeach()
qs_add_test(diff_test SOURCES analysis/diff_test.cpp analysis/diff_files_test.cpp LIBS qs_core)
qs_add_test(audit_test SOURCES analysis/audit_test.cpp analysis/audit_quantized_test.cpp LIBS qs_core)
