# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_recipes LIBS qs_core nlohmann_json::nlohmann_json ONE_THREAD recipes/recipes_test.cpp recipes/convert_test.cpp
  recipes/hostile_test.cpp)
