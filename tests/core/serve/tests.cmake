# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_serve LIBS qs_serve qs_plugin_cpu
  TESTS serve/serve_test.cpp)
qs_one_thread(test_core_serve serve_test)
