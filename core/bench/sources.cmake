# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  bench/abi_values.cpp
  bench/backend.cpp
  bench/local_backend.cpp
  bench/plugin_table.cpp
  bench/shared_buffer.cpp
)
# The benchmark itself.
target_sources(qs_core PRIVATE
  bench/bench_columns.cpp
  bench/bench_plan.cpp
  bench/statistics.cpp
)
