# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  analysis/analyse.cpp
  analysis/analyse_tensor.cpp
  analysis/analysis_report.cpp
  analysis/block_cause.cpp
  analysis/codebook.cpp
  analysis/columns.cpp
  analysis/forensics.cpp
  analysis/histogram.cpp
  analysis/input_errors.cpp
  analysis/inspect_columns.cpp
  analysis/lloyd_gap.cpp
  analysis/metrics.cpp
  analysis/picture.cpp
  analysis/report_plots.cpp
  analysis/statistics.cpp
  analysis/sweep.cpp
  analysis/sweep_report.cpp
  analysis/sweep_specs.cpp
)
