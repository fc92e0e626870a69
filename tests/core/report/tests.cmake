# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_report LIBS qs_core OpenSSL::Crypto
  TESTS report/writers_test.cpp report/provenance_test.cpp report/analysis_report_test.cpp
  ONE_THREAD report/plots_test.cpp)
