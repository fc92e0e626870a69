# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  hdf5/image.cpp
  hdf5/keras.cpp
  hdf5/keras_shards.cpp
  hdf5/listing.cpp
  hdf5/open.cpp
  hdf5/process.cpp
  hdf5/reader.cpp
  hdf5/write.cpp
)
