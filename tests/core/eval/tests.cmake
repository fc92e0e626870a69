# SPDX-License-Identifier: GPL-3.0-or-later
set(sensitivity eval/sensitivity_test.cpp)
if(QS_SANITIZE) # hundreds of passes take too long there; the command sensitivity runs sanitized in tests/app/cli/network_commands_test.cpp
  set(sensitivity "")
endif()
qs_add_tests(test_core_eval LIBS qs_core nlohmann_json::nlohmann_json
  TESTS eval/capture_test.cpp eval/imports_test.cpp eval/llama_statistics_test.cpp eval/networks_test.cpp eval/paired_test.cpp
    eval/sample_test.cpp eval/score_profile_test.cpp eval/scores_test.cpp ${sensitivity} eval/stored_test.cpp eval/tokenizer_kinds_test.cpp
    eval/tokenizer_test.cpp eval/trust_test.cpp)
