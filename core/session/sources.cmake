# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  session/session_file.cpp
  session/session_wire.cpp
  session/sources.cpp
)
