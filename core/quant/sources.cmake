# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  quant/calibration.cpp
  quant/encode.cpp
  quant/formats.cpp
  quant/load.cpp
  quant/pass.cpp
  quant/quantize_tensor.cpp
  quant/scale_grid.cpp
  quant/shared_params.cpp
  quant/spec.cpp
  quant/spec_parse.cpp
)
