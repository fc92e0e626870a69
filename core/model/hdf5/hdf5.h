// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Opens HDF5 files: Keras 3 .weights.h5, legacy .h5 and all others. This process never parses them. It asks a sandboxed
// process (app/worker/hdf5), which runs libhdf5.

#include "core/model/model.h"

#include <span>

namespace qs {

class Descriptor;

/// True if the signature of HDF5 stands at the beginning, or behind a user block of 512, 1024 or 2048 bytes.
bool looksLikeHdf5(std::span<const std::byte> head);

Result<std::shared_ptr<Model>> openHdf5(const std::string& path);
/// Opens a .keras file: a ZIP archive that contains an HDF5 file.
Result<std::shared_ptr<Model>> openKeras(const std::string& path);

/// Opens NAME.weights.json: the index of weights in several HDF5 files.
Result<std::shared_ptr<Model>> openKerasShards(const std::string& path);

/// An HDF5 file, or a part of a file. `descriptor` is that of the file which Model::files()[file] maps.
struct Hdf5Part {
    std::string shown; ///< its name in messages
    const Descriptor& descriptor;
    std::uint64_t base = 0, length = 0; ///< bytes; `base` counts from the beginning of the file
    std::uint32_t file = 0;             ///< index into Model::files()
};
/// Adds the tensors of the file, and a warning for each object that is not a tensor.
Result<void> addHdf5(Model& model, const Hdf5Part& part);

} // namespace qs
