# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  bench/abi_values.cpp
  bench/backend.cpp
  bench/backend_columns.cpp
  bench/backend_list.cpp
  bench/backend_sources.cpp
  bench/local_backend.cpp
  bench/open_backend.cpp
  bench/plugin_table.cpp
  bench/quarantine.cpp
  bench/remote_backend.cpp
  bench/shared_buffer.cpp
  bench/spawn.cpp
  bench/tpu_presence.cpp
  bench/wire.cpp
  bench/wire_fields.cpp
  bench/wire_values.cpp
  bench/worker_process.cpp
  bench/worker_session.cpp
)
# The benchmark itself.
target_sources(qs_core PRIVATE
  bench/bench_columns.cpp
  bench/bench_plan.cpp
  bench/statistics.cpp
)
