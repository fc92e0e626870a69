# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_value LIBS qs_core nlohmann_json::nlohmann_json
  TESTS value/value_vectors_test.cpp value/dot_general_test.cpp value/labs_test.cpp value/trained_test.cpp
  ONE_THREAD value/sharding_test.cpp value/value_test.cpp)
