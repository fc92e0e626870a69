# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_eval LIBS qs_core nlohmann_json::nlohmann_json
  TESTS eval/capture_solvers_test.cpp eval/capture_test.cpp eval/evidence_files_test.cpp eval/llama_statistics_test.cpp eval/networks_test.cpp eval/networks_refuse_test.cpp
    eval/records_test.cpp eval/sensitivity_output_test.cpp eval/shared_units_test.cpp
  SAME_THREADS eval/resume_test.cpp eval/sample_test.cpp eval/sensitivity_test.cpp eval/shared_capture_test.cpp
    eval/stored_test.cpp
  ONE_THREAD eval/imports_test.cpp eval/paired_test.cpp eval/score_profile_test.cpp eval/scores_test.cpp eval/tokenizer_kinds_test.cpp
    eval/tokenizer_test.cpp eval/trust_test.cpp)
qs_one_thread(test_core_eval capture_solvers_test capture_test evidence_files_test networks_test networks_refuse_test sample_test sensitivity_output_test sensitivity_test shared_capture_test shared_units_test stored_test)
qs_whole_program(test_core_eval resume_test sample_test)
qs_begin_early(test_core_eval shared_units_test)
