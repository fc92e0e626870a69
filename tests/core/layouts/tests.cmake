# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_layouts LIBS qs_core nlohmann_json::nlohmann_json
  TESTS layouts/bnb_layout_test.cpp layouts/native_test.cpp layouts/gguf_values_test.cpp layouts/together_test.cpp layouts/select_test.cpp layouts/network_names_test.cpp
  ONE_THREAD layouts/word_layouts_test.cpp layouts/golden_layout_test.cpp layouts/folder_test.cpp)
