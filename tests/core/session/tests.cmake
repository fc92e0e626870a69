# SPDX-License-Identifier: GPL-3.0-or-later
# The reader process has one thread, and its filter blocks system calls that ThreadSanitizer needs.
qs_add_tests(test_core_session LIBS qs_core NEEDS quantscope-worker ONE_THREAD session/session_file_test.cpp session/kept_labs_test.cpp session/kept_sensitivity_test.cpp)
