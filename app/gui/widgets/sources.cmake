# SPDX-License-Identifier: GPL-3.0-or-later
# One line a file.
target_sources(qs_gui PRIVATE
  widgets/banner.cpp
  widgets/card.cpp
  widgets/job_lane.cpp
  widgets/key_figures.cpp
  widgets/keys_dialog.cpp
  widgets/metric_cell.cpp
  widgets/open_dialogs.cpp
  widgets/peek.cpp
  widgets/rail.cpp
  widgets/spec_bar.cpp
  widgets/spec_more.cpp
  widgets/tensor_arrangement.cpp
  widgets/tensor_browser.cpp
  widgets/tensor_tree.cpp
  widgets/top_bar.cpp
  widgets/colour_scale.cpp
  widgets/heat_map.cpp
  widgets/heat_map_paint.cpp
  widgets/ranked_bars.cpp
  widgets/report_preview.cpp
  widgets/plot_axis.cpp
  widgets/plot_chart.cpp
  widgets/plot_chart_copy.cpp
  widgets/plot_chart_input.cpp
  widgets/plot_chart_view.cpp
  widgets/plot_frame.cpp
  widgets/plot_range.cpp
  widgets/plot_shapes.cpp
  widgets/plot_analysis.cpp
  widgets/staged_refresh.cpp
  widgets/empty_state.cpp
  widgets/data_table.cpp
  widgets/elided_label.cpp
  widgets/tick_list.cpp
)
