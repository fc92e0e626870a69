# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  bench/abi_values.cpp
  bench/backend.cpp
  bench/local_backend.cpp
  bench/plugin_table.cpp
  bench/shared_buffer.cpp
)
