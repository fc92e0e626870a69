# SPDX-License-Identifier: GPL-3.0-or-later
# All but the completion's list of commands is tested on the real binary.
foreach(name memory export_memory golden contract analyze audit bench known_answers labs quantize export export_folder signals completion conventions)
  qs_add_test(test_cli_${name} SOURCES cli/test_${name}.cpp LIBS qs_cli)
  add_dependencies(test_cli_${name} quantscope-cli quantscope-worker)
endforeach()
add_dependencies(test_cli_memory make_hdf5)
if(QS_GUI)
  add_dependencies(test_cli_memory quantscope)
endif()
target_compile_definitions(test_cli_bench PRIVATE QS_BUILD_DIR="${CMAKE_BINARY_DIR}")
add_dependencies(test_cli_bench qs_backend_example qs_backend_bad_crash)
# A plugin dies of its own signal there: the sanitizer must let it.
set_tests_properties(test_cli_bench PROPERTIES
  ENVIRONMENT "QT_QPA_PLATFORM=offscreen;ASAN_OPTIONS=handle_segv=0:handle_abort=0:detect_leaks=1")
# Times mean little beside somebody else's threads.
if(NOT QS_SANITIZE)
  set_tests_properties(test_cli_bench PROPERTIES RUN_SERIAL ON)
endif()
