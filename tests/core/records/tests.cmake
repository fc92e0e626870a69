# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_records LIBS qs_core SAME_THREADS records/shared_analysis_test.cpp ONE_THREAD records/records_test.cpp)
