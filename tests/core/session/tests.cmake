# SPDX-License-Identifier: GPL-3.0-or-later
# The process that reads has one thread, and its filter denies what ThreadSanitizer asks for.
qs_add_tests(test_core_session LIBS qs_core NEEDS quantscope-worker ONE_THREAD session/session_file_test.cpp session/kept_labs_test.cpp)
