# SPDX-License-Identifier: GPL-3.0-or-later
foreach(test spec bnb bnb_layout word_layouts golden_layout edge folder native block rule learn user_formats gguf_values)
  qs_add_test(${test}_test SOURCES quant/${test}_test.cpp LIBS qs_core nlohmann_json::nlohmann_json)
endforeach()
