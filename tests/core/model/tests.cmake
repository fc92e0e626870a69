# SPDX-License-Identifier: GPL-3.0-or-later
foreach(test safetensors_refuse safetensors_accept sharded atomic_file safetensors_write
        tensor_name large_files sniff imatrix npy npz zip pytorch conventions)
  qs_add_test(${test}_test SOURCES model/${test}_test.cpp LIBS qs_core ONE_THREAD)
endforeach()
qs_add_test(conventions_refuse_test SOURCES model/conventions_refuse_test.cpp model/conventions_damage_test.cpp LIBS qs_core ONE_THREAD)
qs_add_test(pickle_test SOURCES model/pickle_test.cpp model/pickle_state_test.cpp LIBS qs_core ONE_THREAD)
qs_add_test(gguf_test SOURCES model/gguf_test.cpp model/gguf_split_test.cpp LIBS qs_core ONE_THREAD)
qs_add_test(mapped_file_test SOURCES model/mapped_file_test.cpp LIBS qs_core)
foreach(test npz zip pickle pytorch) # they make archives
  target_link_libraries(${test}_test PRIVATE ZLIB::ZLIB)
endforeach()
# Networks made by others are stored compressed.
qs_add_test(tflite_test SOURCES model/tflite_test.cpp LIBS qs_core PkgConfig::ZSTD ONE_THREAD)
qs_add_test(tfjs_test SOURCES model/tfjs_test.cpp model/tfjs_refuse_test.cpp LIBS qs_core PkgConfig::ZSTD ONE_THREAD)
qs_add_test(zarr_test SOURCES model/zarr_test.cpp model/zarr_refuse_test.cpp LIBS qs_core PkgConfig::ZSTD ONE_THREAD)
qs_add_test(ocdbt_test SOURCES model/ocdbt_test.cpp model/ocdbt_bytes_test.cpp model/ocdbt_refuse_test.cpp LIBS qs_core PkgConfig::ZSTD
  ONE_THREAD)
qs_add_test(onnx_test SOURCES model/onnx_test.cpp model/onnx_outside_test.cpp LIBS qs_core PkgConfig::ZSTD ONE_THREAD)
target_link_libraries(zarr_test PRIVATE PkgConfig::BLOSC)
target_link_libraries(ocdbt_test PRIVATE PkgConfig::BLOSC)
