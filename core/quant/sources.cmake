# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  quant/calibration.cpp
  quant/formats.cpp
  quant/spec.cpp
  quant/spec_parse.cpp
)
