# SPDX-License-Identifier: GPL-3.0-or-later
# These tests run the real program. Only the test of shell completion reads commands() directly, and that of
# spooled rows the class.
qs_add_tests(test_cli LIBS qs_cli NEEDS quantscope-cli quantscope-worker make_hdf5 qs_backend_example qs_backend_bad qs_backend_bad_crash
  TESTS cli/memory_test.cpp cli/export_memory_test.cpp cli/golden_test.cpp cli/contract_test.cpp cli/json_contract_test.cpp cli/analyze_test.cpp cli/audit_test.cpp
    cli/bench_test.cpp cli/known_answers_test.cpp cli/labs_test.cpp cli/quantize_test.cpp cli/export_test.cpp cli/export_folder_test.cpp
    cli/export_names_test.cpp cli/replaced_files_test.cpp
    cli/eval_test.cpp cli/network_commands_test.cpp cli/plan_command_test.cpp cli/signals_test.cpp cli/completion_test.cpp cli/conventions_test.cpp
    cli/recipe_test.cpp cli/one_meaning_test.cpp cli/row_spool_test.cpp cli/shared_units_test.cpp cli/shared_network_test.cpp cli/goes_on_test.cpp
  SUPPORT cli/worst_files.cpp)
if(QS_GUI)
  add_dependencies(test_cli quantscope)
endif()
qs_begin_early(test_cli memory_test contract_test)
qs_real_faults(test_cli bench_test eval_test)
if(NOT QS_SANITIZE) # the test judges times, so nothing else may run; sanitized builds judge no times
  qs_run_alone(test_cli bench_test)
endif()
qs_one_thread(test_cli eval_test goes_on_test network_commands_test shared_network_test)
qs_whole_program(test_cli goes_on_test plan_command_test network_commands_test shared_network_test)
