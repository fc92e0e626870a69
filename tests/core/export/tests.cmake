# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_test(export_test SOURCES export/export_test.cpp LIBS qs_core nlohmann_json::nlohmann_json)
add_dependencies(export_test quantscope-worker)
