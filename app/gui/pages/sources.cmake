# SPDX-License-Identifier: GPL-3.0-or-later
# One line a file. A page also has its row in page.cpp.
target_sources(qs_gui PRIVATE
  pages/backends_charts.cpp
  pages/backends_detail.cpp
  pages/backends_matrix.cpp
  pages/backends_page.cpp
  pages/backends_plan.cpp
  pages/backends_plan_lists.cpp
  pages/backends_rows.cpp
  pages/backends_tables.cpp
  pages/compare_figures.cpp
  pages/compare_page.cpp
  pages/compare_plots.cpp
  pages/lab_operations.cpp
  pages/lab_panel.cpp
  pages/lab_products.cpp
  pages/lab_qat.cpp
  pages/lab_solvers.cpp
  pages/labs_page.cpp
  pages/overview_page.cpp
  pages/overview_rows.cpp
  pages/report_page.cpp
  pages/spec_set_view.cpp
  pages/start_page.cpp
  pages/sweep_page.cpp
  pages/sweep_page_layout.cpp
  pages/tensor_page.cpp
  pages/tensor_page_block.cpp
  pages/tensor_page_cards.cpp
  pages/tensor_page_header.cpp
  pages/tensor_page_map.cpp
  pages/tensor_page_strip.cpp
  pages/codebook_gap_card.cpp
  pages/codebook_lab.cpp
  pages/codebook_page.cpp
  pages/codebook_page_cards.cpp
)
