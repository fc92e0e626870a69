# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_verify LIBS qs_core nlohmann_json::nlohmann_json NEEDS quantscope-worker ONE_THREAD verify/verify_test.cpp)
