# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  session/kept_audit.cpp
  session/kept_bench.cpp
  session/kept_diff.cpp
  session/kept_export.cpp
  session/kept_products.cpp
  session/kept_solutions.cpp
  session/kept_sweep.cpp
  session/kept_training.cpp
  session/session_file.cpp
  session/session_wire.cpp
  session/sources.cpp
)
