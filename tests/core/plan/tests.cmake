# SPDX-License-Identifier: GPL-3.0-or-later
# A plan starts no thread of its own: those of the evaluation run in test_core_eval.
qs_add_tests(test_core_plan LIBS qs_core nlohmann_json::nlohmann_json ONE_THREAD plan/knapsack_test.cpp plan/losses_test.cpp plan/plan_test.cpp plan/chance_test.cpp
  plan/known_recipe_test.cpp plan/latency_test.cpp plan/whole_refusals_test.cpp plan/two_budgets_test.cpp)
qs_whole_program(test_core_plan chance_test plan_test)
