# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_quant LIBS qs_core nlohmann_json::nlohmann_json
  TESTS quant/block_test.cpp quant/learn_test.cpp quant/rule_refuse_test.cpp quant/ct_mx_test.cpp
  SAME_THREADS quant/rule_test.cpp
  ONE_THREAD quant/spec_test.cpp quant/bnb_test.cpp quant/mlx_test.cpp quant/edge_test.cpp quant/user_formats_test.cpp
    quant/row_ids_test.cpp quant/known_answers_test.cpp)
