# SPDX-License-Identifier: GPL-3.0-or-later
set(gui "${CMAKE_CURRENT_LIST_DIR}")
qs_add_test(test_heat_map SOURCES ${gui}/test_heat_map.cpp LIBS qs_gui)
qs_add_test(test_plot_chart SOURCES ${gui}/test_plot_chart.cpp LIBS qs_gui)
qs_add_test(test_overview_page SOURCES ${gui}/test_overview_page.cpp LIBS qs_gui)
qs_add_test(test_tensor_page SOURCES ${gui}/test_tensor_page.cpp LIBS qs_gui)
qs_add_test(test_codebook_page SOURCES ${gui}/test_codebook_page.cpp LIBS qs_gui)
