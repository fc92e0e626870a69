# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  bench/backend.cpp
)
