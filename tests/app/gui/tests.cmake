# SPDX-License-Identifier: GPL-3.0-or-later
set(gui "${CMAKE_CURRENT_LIST_DIR}")
qs_add_test(test_heat_map SOURCES ${gui}/test_heat_map.cpp LIBS qs_gui)
qs_add_test(test_plot_chart SOURCES ${gui}/test_plot_chart.cpp LIBS qs_gui)
qs_add_test(test_overview_page SOURCES ${gui}/test_overview_page.cpp LIBS qs_gui)
qs_add_test(test_tensor_page SOURCES ${gui}/test_tensor_page.cpp LIBS qs_gui)
qs_add_test(test_codebook_page SOURCES ${gui}/test_codebook_page.cpp LIBS qs_gui)
qs_add_test(test_window_layout SOURCES ${gui}/test_window_layout.cpp LIBS qs_gui)
qs_add_test(test_given_inputs SOURCES ${gui}/test_given_inputs.cpp LIBS qs_gui)
add_dependencies(test_given_inputs quantscope-cli)
qs_add_test(test_audit_page SOURCES ${gui}/test_audit_page.cpp LIBS qs_gui)
add_dependencies(test_audit_page quantscope-cli)
qs_add_test(test_sweep_page SOURCES ${gui}/test_sweep_page.cpp LIBS qs_gui)
qs_add_test(test_labs_page SOURCES ${gui}/test_labs_page.cpp LIBS qs_gui)
qs_add_test(test_spec_bar SOURCES ${gui}/test_spec_bar.cpp LIBS qs_gui)
qs_add_test(test_tensor_browser SOURCES ${gui}/test_tensor_browser.cpp LIBS qs_gui)
qs_add_test(test_main_window SOURCES ${gui}/test_main_window.cpp LIBS qs_gui)
qs_add_test(test_compare_page SOURCES ${gui}/test_compare_page.cpp LIBS qs_gui)
qs_add_test(test_backends_charts SOURCES ${gui}/test_backends_charts.cpp LIBS qs_gui)
foreach(name test_backends_page test_backends_plan)
  qs_add_test(${name} SOURCES ${gui}/${name}.cpp LIBS qs_gui)
  target_compile_definitions(${name} PRIVATE QS_BAD_DIR="${CMAKE_BINARY_DIR}/lib/quantscope/test-backends")
  add_dependencies(${name} quantscope-worker qs_backend_bad_load)
  # One of the plugins crashes; the sanitizer must let the worker die of its own signal.
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "QT_QPA_PLATFORM=offscreen;ASAN_OPTIONS=handle_segv=0:handle_abort=0:detect_leaks=1")
endforeach()
qs_add_test(test_conventions SOURCES ${gui}/test_conventions.cpp LIBS qs_gui)
qs_add_test(test_export_page SOURCES ${gui}/test_export_page.cpp LIBS qs_gui)
add_dependencies(test_export_page quantscope-worker) # lays out HDF5
qs_add_test(test_report_page SOURCES ${gui}/test_report_page.cpp LIBS qs_gui)
qs_add_test(test_session_file SOURCES ${gui}/test_session_file.cpp LIBS qs_gui)
add_dependencies(test_session_file quantscope-worker)
qs_add_test(test_shared_painting SOURCES ${gui}/test_shared_painting.cpp LIBS qs_gui)
qs_add_test(test_theme SOURCES ${gui}/test_theme.cpp LIBS qs_gui)
qs_add_test(test_turns SOURCES ${gui}/test_turns.cpp ${gui}/turns_walk.cpp LIBS qs_gui)
qs_add_test(test_block_slider SOURCES ${gui}/test_block_slider.cpp LIBS qs_gui)
# A wrong call is exit code 2 and a sentence, without a display too.
foreach(wrong "--nonsense" "--theme=pink" "--page=nowhere" "--size=3" "--spec=zz4")
  add_test(NAME gui_wrong_call_${wrong} COMMAND ${CMAKE_COMMAND} -E env --unset=DISPLAY --unset=WAYLAND_DISPLAY
    --unset=QT_QPA_PLATFORM bash -c "\"$<TARGET_FILE:quantscope>\" ${wrong} 2>&1; test $? = 2")
endforeach()
# They judge how long the event loop is held: nobody else's threads beside them.
if(NOT QS_SANITIZE) # whose times nobody judges
  set_tests_properties(test_main_window test_turns test_block_slider test_backends_page test_backends_plan PROPERTIES RUN_SERIAL ON)
endif()
set_tests_properties(test_turns PROPERTIES TIMEOUT 600) # up to five processes, where the machine is loaded
