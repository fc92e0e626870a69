# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_tests(test_core_report LIBS qs_core OpenSSL::Crypto
  TESTS report/test_writers.cpp report/test_provenance.cpp report/test_analysis_report.cpp
  ONE_THREAD report/test_plots.cpp)
