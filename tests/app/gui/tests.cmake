# SPDX-License-Identifier: GPL-3.0-or-later
set(gui "${CMAKE_CURRENT_LIST_DIR}")
qs_add_tests(test_gui KIND windows LIBS qs_gui NEEDS quantscope quantscope-cli quantscope-worker qs_backend_bad_load
  TESTS
    ${gui}/heat_map_test.cpp ${gui}/plot_chart_test.cpp ${gui}/overview_page_test.cpp ${gui}/plan_changes_test.cpp ${gui}/plan_page_test.cpp ${gui}/plan_speed_test.cpp ${gui}/tensor_page_test.cpp
    ${gui}/codebook_page_test.cpp ${gui}/window_layout_test.cpp ${gui}/page_room_test.cpp ${gui}/given_inputs_test.cpp ${gui}/audit_page_test.cpp
    ${gui}/evidence_page_test.cpp ${gui}/evidence_resume_test.cpp ${gui}/evidence_runs_test.cpp ${gui}/evidence_kept_test.cpp ${gui}/evidence_remedies_test.cpp ${gui}/sweep_page_test.cpp ${gui}/labs_page_test.cpp ${gui}/spec_bar_test.cpp ${gui}/spec_history_test.cpp
    ${gui}/tensor_browser_test.cpp ${gui}/tensor_selection_test.cpp ${gui}/main_window_test.cpp
    ${gui}/another_model_test.cpp ${gui}/window_keys_test.cpp ${gui}/window_work_test.cpp ${gui}/kept_results_test.cpp ${gui}/kept_lab_results_test.cpp
    ${gui}/compare_page_test.cpp ${gui}/backends_charts_test.cpp ${gui}/backends_page_test.cpp ${gui}/backends_plan_test.cpp
    ${gui}/conventions_test.cpp ${gui}/export_page_test.cpp ${gui}/report_page_test.cpp ${gui}/session_file_test.cpp
    ${gui}/shared_painting_test.cpp ${gui}/task_test.cpp ${gui}/theme_test.cpp ${gui}/recipe_dialogs_test.cpp)
qs_real_faults(test_gui backends_page_test backends_plan_test)
qs_run_alone(test_gui backends_page_test) # it times products
qs_one_thread(test_gui evidence_page_test evidence_remedies_test evidence_resume_test evidence_runs_test plan_changes_test plan_page_test)
qs_add_tests(test_gui_times KIND timed LIBS qs_gui TESTS ${gui}/turns_test.cpp ${gui}/block_slider_test.cpp SUPPORT ${gui}/turns_walk.cpp)
qs_whole_program(test_gui evidence_page_test page_room_test)
# A wrong option gives exit code 2 and a message, also without a display.
foreach(wrong "--nonsense" "--theme=pink" "--page=nowhere" "--size=3" "--spec=zz4")
  add_test(NAME gui_wrong_call_${wrong} COMMAND ${CMAKE_COMMAND} -E env --unset=DISPLAY --unset=WAYLAND_DISPLAY
    --unset=QT_QPA_PLATFORM bash -c "\"$<TARGET_FILE:quantscope>\" ${wrong} 2>&1; test $? = 2")
endforeach()
