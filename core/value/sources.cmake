# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  value/conv.cpp
  value/deviation.cpp
  value/dot_general.cpp
  value/elementwise.cpp
  value/gather.cpp
  value/mesh.cpp
  value/operand.cpp
  value/piece.cpp
  value/product.cpp
  value/reduce.cpp
  value/sharding.cpp
  value/shape_operations.cpp
  value/tensor.cpp
)
