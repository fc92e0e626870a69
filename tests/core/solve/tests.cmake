# SPDX-License-Identifier: GPL-3.0-or-later
foreach(test solve solve_files)
  qs_add_test(${test}_test SOURCES solve/${test}_test.cpp LIBS qs_core nlohmann_json::nlohmann_json)
endforeach()
