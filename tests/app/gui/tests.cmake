# SPDX-License-Identifier: GPL-3.0-or-later
set(gui "${CMAKE_CURRENT_LIST_DIR}")
qs_add_tests(test_gui KIND windows LIBS qs_gui NEEDS quantscope quantscope-cli quantscope-worker qs_backend_bad_load
  TESTS
    ${gui}/test_heat_map.cpp ${gui}/test_plot_chart.cpp ${gui}/test_overview_page.cpp ${gui}/test_tensor_page.cpp
    ${gui}/test_codebook_page.cpp ${gui}/test_window_layout.cpp ${gui}/test_given_inputs.cpp ${gui}/test_audit_page.cpp
    ${gui}/test_sweep_page.cpp ${gui}/test_labs_page.cpp ${gui}/test_spec_bar.cpp ${gui}/test_tensor_browser.cpp ${gui}/test_main_window.cpp
    ${gui}/test_compare_page.cpp ${gui}/test_backends_charts.cpp ${gui}/test_backends_page.cpp ${gui}/test_backends_plan.cpp
    ${gui}/test_conventions.cpp ${gui}/test_export_page.cpp ${gui}/test_report_page.cpp ${gui}/test_session_file.cpp
    ${gui}/test_shared_painting.cpp ${gui}/test_task.cpp ${gui}/test_theme.cpp)
qs_real_faults(test_gui test_backends_page test_backends_plan)
qs_run_alone(test_gui test_backends_page) # times products
qs_add_tests(test_gui_times KIND timed LIBS qs_gui TESTS ${gui}/test_turns.cpp ${gui}/test_block_slider.cpp SUPPORT ${gui}/turns_walk.cpp)
# A wrong call is exit code 2 and a sentence, without a display too.
foreach(wrong "--nonsense" "--theme=pink" "--page=nowhere" "--size=3" "--spec=zz4")
  add_test(NAME gui_wrong_call_${wrong} COMMAND ${CMAKE_COMMAND} -E env --unset=DISPLAY --unset=WAYLAND_DISPLAY
    --unset=QT_QPA_PLATFORM bash -c "\"$<TARGET_FILE:quantscope>\" ${wrong} 2>&1; test $? = 2")
endforeach()
