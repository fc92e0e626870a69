# SPDX-License-Identifier: GPL-3.0-or-later
# These tests run the real program. Only the test of shell completion reads commands() directly.
qs_add_tests(test_cli LIBS qs_cli NEEDS quantscope-cli quantscope-worker make_hdf5 qs_backend_example qs_backend_bad_crash
  TESTS cli/test_memory.cpp cli/test_export_memory.cpp cli/test_golden.cpp cli/test_contract.cpp cli/test_analyze.cpp cli/test_audit.cpp
    cli/test_bench.cpp cli/test_known_answers.cpp cli/test_labs.cpp cli/test_quantize.cpp cli/test_export.cpp cli/test_export_folder.cpp
    cli/test_signals.cpp cli/test_completion.cpp cli/test_conventions.cpp)
if(QS_GUI)
  add_dependencies(test_cli quantscope)
endif()
qs_real_faults(test_cli test_bench)
if(NOT QS_SANITIZE) # the test judges times, so nothing else may run; sanitized builds judge no times
  qs_run_alone(test_cli test_bench)
endif()
