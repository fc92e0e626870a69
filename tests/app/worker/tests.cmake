# SPDX-License-Identifier: GPL-3.0-or-later
# make_hdf5 writes the files of hdf5_test with libhdf5. The test itself does not link libhdf5.
add_executable(make_hdf5 worker/hdf5/make_hdf5.cpp)
target_link_libraries(make_hdf5 PRIVATE qs_worker_hdf5)
add_executable(fake_hdf5_reader worker/hdf5/fake_reader.cpp)
target_link_libraries(fake_hdf5_reader PRIVATE qs_process)
# A library with the name of libseccomp's function, which sets no filter.
add_library(no_filter MODULE worker/hdf5/no_filter.c)
qs_add_tests(test_worker LIBS qs_worker ZLIB::ZLIB PkgConfig::ZSTD NEEDS make_hdf5 fake_hdf5_reader no_filter quantscope-worker quantscope-cli
  TESTS worker/environment_test.cpp worker/hdf5/hdf5_test.cpp worker/hdf5/hdf5_reader_test.cpp
    worker/hdf5/keras_test.cpp)
