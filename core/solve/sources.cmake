# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  solve/awq.cpp
  solve/awq_clip.cpp
  solve/codebooks.cpp
  solve/columns.cpp
  solve/gptq.cpp
  solve/gram.cpp
  solve/inputs.cpp
  solve/inverse_factor.cpp
  solve/problem.cpp
  solve/save.cpp
  solve/settings.cpp
  solve/solver.cpp
)
