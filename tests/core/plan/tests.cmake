# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_plan LIBS qs_core nlohmann_json::nlohmann_json TESTS plan/knapsack_test.cpp plan/plan_test.cpp plan/chance_test.cpp
  plan/latency_test.cpp plan/two_budgets_test.cpp)
