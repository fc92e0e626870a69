// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// HDF5: Keras 3 .weights.h5, legacy .h5 and any other file of it. This program never parses it: core/hdf5, where these
// are defined, asks a sandboxed process. The registry of file formats needs no more than these names.

#include "core/model/model.h"

#include <span>

namespace qs {

class Descriptor;

/// At the beginning, or behind a user block of 512, 1024 or 2048 bytes.
bool looksLikeHdf5(std::span<const std::byte> head);

Result<std::shared_ptr<Model>> openHdf5(const std::string& path);
/// .keras: a ZIP archive with such a file in it.
Result<std::shared_ptr<Model>> openKeras(const std::string& path);

/// NAME.weights.json: the index of weights in several such files.
Result<std::shared_ptr<Model>> openKerasShards(const std::string& path);

/// A file of HDF5, or a part of one: `descriptor` reads what model.files[file] maps.
struct Hdf5Part {
    std::string shown; ///< what sentences call it
    const Descriptor& descriptor;
    std::uint64_t base = 0, length = 0;
    std::uint32_t file = 0; ///< index into Model::files(), where `base` counts
};
/// Adds its tensors, and a warning for each object that is none.
Result<void> addHdf5(Model& model, const Hdf5Part& part);

} // namespace qs
