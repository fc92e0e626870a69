# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_test(test_wire SOURCES bench/test_wire.cpp LIBS qs_core)
foreach(name operands gate benchmark rows)
  qs_add_test(test_bench_${name} SOURCES bench/${name}_test.cpp LIBS qs_core)
endforeach()
foreach(name statistics compare shapes)
  qs_add_test(test_bench_${name} SOURCES bench/${name}_test.cpp LIBS qs_core ONE_THREAD)
endforeach()
qs_add_test(test_bench_coders SOURCES bench/coders_test.cpp LIBS qs_core qs_plugin_cpu)
set_tests_properties(test_bench_coders PROPERTIES RUN_SERIAL ON) # as tst_cpu_backend
