# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_analysis LIBS qs_core
  TESTS analysis/analyse_test.cpp analysis/analyse_values_test.cpp analysis/read_test.cpp analysis/sweep_test.cpp analysis/diff_test.cpp analysis/diff_alignment_test.cpp analysis/diff_experts_test.cpp analysis/diff_files_test.cpp
    analysis/audit_test.cpp analysis/audit_scales_test.cpp analysis/effects_test.cpp
  SAME_THREADS analysis/audit_quantized_test.cpp
  ONE_THREAD analysis/histogram_test.cpp)
qs_whole_program(test_core_analysis audit_quantized_test)
