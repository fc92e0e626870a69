# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  value/conv.cpp
  value/deviation.cpp
  value/dot_general.cpp
  value/elementwise.cpp
  value/gather.cpp
  value/inputs.cpp
  value/kept_variants.cpp
  value/kv_cache.cpp
  value/mesh.cpp
  value/npy.cpp
  value/operand.cpp
  value/piece.cpp
  value/product.cpp
  value/product_lab.cpp
  value/qat.cpp
  value/reduce.cpp
  value/shape_operations.cpp
  value/sharding.cpp
  value/synthetic.cpp
  value/tensor.cpp
  value/trained.cpp
  value/what_if.cpp
  value/what_if_columns.cpp
)
