# SPDX-License-Identifier: GPL-3.0-or-later
foreach(test value_vectors dot_general labs trained)
  qs_add_test(${test}_test SOURCES value/${test}_test.cpp LIBS qs_core nlohmann_json::nlohmann_json)
endforeach()
foreach(test sharding value)
  qs_add_test(${test}_test SOURCES value/${test}_test.cpp LIBS qs_core nlohmann_json::nlohmann_json ONE_THREAD)
endforeach()
