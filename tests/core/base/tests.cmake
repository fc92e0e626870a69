# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_base LIBS qs_core
  TESTS base/parallel_test.cpp
  ONE_THREAD base/text_test.cpp base/base64_test.cpp base/column_test.cpp base/nearest_word_test.cpp base/short_name_test.cpp base/tensor_name_test.cpp)
