# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_bench LIBS qs_bench qs_plugin_cpu
  TESTS bench/wire_test.cpp bench/operands_test.cpp bench/coders_test.cpp
  SAME_THREADS bench/gate_test.cpp bench/benchmark_test.cpp bench/rows_test.cpp
  ONE_THREAD bench/statistics_test.cpp bench/compare_test.cpp bench/shapes_test.cpp)
qs_run_alone(test_core_bench coders_test)
qs_whole_program(test_core_bench benchmark_test gate_test)
