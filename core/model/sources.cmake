# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  model/atomic_file.cpp
  model/atomic_folder.cpp
  model/conventions/bnb4.cpp
  model/conventions/bnb8.cpp
  model/conventions/checkpoint.cpp
  model/conventions/conventions.cpp
  model/conventions/json_tree.cpp
  model/conventions/layer.cpp
  model/dtype.cpp
  model/file_format.cpp
  model/file_set.cpp
  model/foreign_file.cpp
  model/gguf.cpp
  model/gguf_header.cpp
  model/gguf_value.cpp
  model/huggingface.cpp
  model/imatrix.cpp
  model/mapped_file.cpp
  model/model.cpp
  model/npy.cpp
  model/npz.cpp
  model/output_path.cpp
  model/packed_type.cpp
  model/partial_folder.cpp
  model/safetensors_header.cpp
  model/safetensors_index.cpp
  model/safetensors_write.cpp
  model/sharded.cpp
  model/strict_json.cpp
  model/strided_tensor.cpp
  model/tensor_name.cpp
  model/zip.cpp
  model/zip_directory.cpp
)
target_link_libraries(qs_core PRIVATE nlohmann_json::nlohmann_json PkgConfig::XXHASH ZLIB::ZLIB)
