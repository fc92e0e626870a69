# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_solve LIBS qs_core nlohmann_json::nlohmann_json TESTS solve/solve_test.cpp SAME_THREADS solve/solve_files_test.cpp)
qs_whole_program(test_core_solve solve_files_test)
qs_begin_early(test_core_solve solve_test)
