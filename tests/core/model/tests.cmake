# SPDX-License-Identifier: GPL-3.0-or-later
# The tests make archives and compressed files with the same libraries that other programs use.
qs_add_tests(test_core_model LIBS qs_core ZLIB::ZLIB PkgConfig::ZSTD PkgConfig::BLOSC
  TESTS model/mapped_file_test.cpp
  ONE_THREAD
    model/safetensors_refuse_test.cpp model/safetensors_accept_test.cpp model/sharded_test.cpp model/atomic_file_test.cpp model/atomic_folder_test.cpp
    model/safetensors_write_test.cpp model/tensors_to_write_test.cpp model/tensor_name_test.cpp model/tensor_shape_test.cpp model/large_files_test.cpp model/sniff_test.cpp model/imatrix_test.cpp
    model/npy_test.cpp model/npz_test.cpp model/tensor_role_test.cpp model/zip_test.cpp model/pytorch_test.cpp model/conventions_test.cpp
    model/conventions_refuse_test.cpp model/conventions_proof_test.cpp model/conventions_damage_test.cpp model/pickle_test.cpp model/pickle_state_test.cpp
    model/gguf_test.cpp model/gguf_split_test.cpp model/tflite_test.cpp model/tfjs_test.cpp model/tfjs_refuse_test.cpp model/zarr_test.cpp
    model/zarr_refuse_test.cpp model/ocdbt_test.cpp model/ocdbt_bytes_test.cpp model/ocdbt_refuse_test.cpp model/onnx_test.cpp model/onnx_refuse_test.cpp
    model/onnx_outside_test.cpp)
