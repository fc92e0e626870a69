# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_export LIBS qs_core nlohmann_json::nlohmann_json NEEDS quantscope-worker
  TESTS export/certificate_test.cpp export/export_files_test.cpp export/loaders_test.cpp export/plan_test.cpp
  SAME_THREADS export/export_test.cpp export/many_test.cpp export/overflow_test.cpp)
qs_whole_program(test_core_export overflow_test)
