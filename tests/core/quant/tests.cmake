# SPDX-License-Identifier: GPL-3.0-or-later
foreach(test bnb_layout native block learn gguf_values together)
  qs_add_test(${test}_test SOURCES quant/${test}_test.cpp LIBS qs_core nlohmann_json::nlohmann_json)
endforeach()
foreach(test spec bnb word_layouts golden_layout edge folder user_formats)
  qs_add_test(${test}_test SOURCES quant/${test}_test.cpp LIBS qs_core nlohmann_json::nlohmann_json ONE_THREAD)
endforeach()
qs_add_test(rule_test SOURCES quant/rule_test.cpp quant/rule_refuse_test.cpp LIBS qs_core nlohmann_json::nlohmann_json)
