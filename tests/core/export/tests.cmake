# SPDX-License-Identifier: GPL-3.0-or-later
foreach(name export_test export_files_test plan_test)
  qs_add_test(${name} SOURCES export/${name}.cpp LIBS qs_core nlohmann_json::nlohmann_json)
  add_dependencies(${name} quantscope-worker)
endforeach()
