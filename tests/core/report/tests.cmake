# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_test(test_report_writers SOURCES report/test_writers.cpp LIBS qs_core)
qs_add_test(test_report_plots SOURCES report/test_plots.cpp LIBS qs_core ONE_THREAD)
qs_add_test(test_report_provenance SOURCES report/test_provenance.cpp LIBS qs_core)
target_link_libraries(test_report_provenance PRIVATE OpenSSL::Crypto)
qs_add_test(test_analysis_report SOURCES report/test_analysis_report.cpp LIBS qs_core)
