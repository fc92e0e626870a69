# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  quant/block_encoder.cpp
  quant/calibration.cpp
  quant/decode_stored.cpp
  quant/encode.cpp
  quant/formats.cpp
  quant/layout.cpp
  quant/layout_eformer.cpp
  quant/layout_native.cpp
  quant/layout_plain.cpp
  quant/load.cpp
  quant/native_packing.cpp
  quant/pass.cpp
  quant/produce.cpp
  quant/quantize_model.cpp
  quant/quantize_tensor.cpp
  quant/refused_filter.cpp
  quant/scale_grid.cpp
  quant/shared_params.cpp
  quant/spec.cpp
  quant/spec_parse.cpp
  quant/stored.cpp
  quant/write_model.cpp
)
