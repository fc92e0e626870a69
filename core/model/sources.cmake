# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core_read PRIVATE
  model/atomic_file.cpp
  model/atomic_folder.cpp
  model/companion.cpp
  model/confined_folder.cpp
  model/crc32c.cpp
  model/conventions/bnb4.cpp
  model/conventions/bnb8.cpp
  model/conventions/checkpoint.cpp
  model/conventions/compressed.cpp
  model/conventions/conventions.cpp
  model/conventions/fp8_blocks.cpp
  model/conventions/gptq.cpp
  model/conventions/hqq.cpp
  model/conventions/input_coded.cpp
  model/conventions/json_tree.cpp
  model/conventions/layer.cpp
  model/conventions/mlx.cpp
  model/conventions/modelopt.cpp
  model/conventions/mxfp4_blocks.cpp
  model/conventions/row_coded.cpp
  model/conventions/schemes.cpp
  model/dtype.cpp
  model/file_format.cpp
  model/file_set.cpp
  model/folder_lock.cpp
  model/foreign_file.cpp
  model/gguf.cpp
  model/gguf_header.cpp
  model/gguf_value.cpp
  model/gguf_write.cpp
  model/huggingface.cpp
  model/imatrix.cpp
  model/list_budget.cpp
  model/mapped_file.cpp
  model/model.cpp
  model/norm_name.cpp
  model/npy.cpp
  model/npz.cpp
  model/npz_write.cpp
  model/ocdbt/body.cpp
  model/ocdbt/data_files.cpp
  model/ocdbt/database.cpp
  model/ocdbt/manifest.cpp
  model/ocdbt/node.cpp
  model/ocdbt/walk.cpp
  model/onnx/field_values.cpp
  model/onnx/graph.cpp
  model/onnx/open.cpp
  model/onnx/quantized.cpp
  model/onnx/tensor.cpp
  model/onnx/values.cpp
  model/onnx/wire.cpp
  model/output_axis.cpp
  model/output_path.cpp
  model/packed_type.cpp
  model/partial_folder.cpp
  model/pickle.cpp
  model/pickle_reader.cpp
  model/pytorch.cpp
  model/pytorch_classes.cpp
  model/pytorch_legacy.cpp
  model/pytorch_notes.cpp
  model/pytorch_state.cpp
  model/safetensors_header.cpp
  model/safetensors_index.cpp
  model/safetensors_write.cpp
  model/sharded.cpp
  model/strict_json.cpp
  model/strided_tensor.cpp
  model/tensor_name.cpp
  model/tensor_shape.cpp
  model/tensor_stream.cpp
  model/tfjs/manifest.cpp
  model/tfjs/open.cpp
  model/tfjs/values.cpp
  model/tflite/open.cpp
  model/tflite/parse.cpp
  model/zip.cpp
  model/zip_directory.cpp
  model/zarr/array.cpp
  model/zarr/codec.cpp
  model/zarr/database_store.cpp
  model/zarr/folder_store.cpp
  model/zarr/open.cpp
  model/zarr/values.cpp
)
# Accessors and checks of the tables that are read, made by flatc from the schema.
find_program(QS_FLATC flatc REQUIRED)
set(tflite_schema "${CMAKE_CURRENT_SOURCE_DIR}/model/tflite/tflite_schema.fbs")
set(generated "${CMAKE_CURRENT_BINARY_DIR}/generated")
add_custom_command(OUTPUT "${generated}/tflite_schema_generated.h"
  COMMAND "${QS_FLATC}" --cpp -o "${generated}" "${tflite_schema}" DEPENDS "${tflite_schema}" VERBATIM)
target_sources(qs_core_read PRIVATE "${generated}/tflite_schema_generated.h")
target_include_directories(qs_core_read SYSTEM PUBLIC "${generated}")
foreach(target qs_core_read qs_core) # what qs_core_read links privately its users would not be linked with
  target_link_libraries(${target} PRIVATE nlohmann_json::nlohmann_json PkgConfig::XXHASH ZLIB::ZLIB
  PkgConfig::PROTOBUF_LITE PkgConfig::ZSTD PkgConfig::BLOSC)
endforeach()
# Rows of the registry: their functions have the same names.
qs_alone(model/conventions/bnb4.cpp model/conventions/bnb8.cpp model/conventions/compressed.cpp model/conventions/fp8_blocks.cpp model/conventions/gptq.cpp model/conventions/hqq.cpp model/conventions/mlx.cpp model/conventions/modelopt.cpp model/conventions/mxfp4_blocks.cpp)
