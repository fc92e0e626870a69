// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What one dataset of HDF5 is, as far as it can be read without harm.

#include "app/worker/hdf5/handle.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace qs::worker {

struct Found {
    std::string path;
    std::string reason;         ///< why it is not read: "is a soft link, which is never followed"; "" for a tensor
    std::string type;           ///< as core/model/dtype.h spells it, or "opaque2"
    std::string note;           ///< how it is stored, where that is not plainly: "gzip in chunks of [16, 32]"
    std::string dtypeAttribute; ///< of Keras: "bfloat16"
    std::map<std::string, std::string> quantized; ///< the texts at attributes "quantscope_...", where it has some
    std::vector<std::int64_t> quantizedShape;     ///< the one at "quantscope_shape"
    std::size_t quantizedText = 0;                ///< bytes of these texts
    std::vector<std::uint64_t> shape;
    std::uint64_t address = 0; ///< of the object
    std::uint64_t bytes = 0, stored = 0;
    bool plain = false;           ///< contiguous, in little-endian order, at `offset`
    std::uint64_t offset = 0;     ///< from the beginning of the file part
    std::uint64_t chunkCache = 0; ///< bytes that reading in order needs
};

/// Fills in all but path and address; never reads elements.
void describe(hid_t dataset, Found& found);
/// A text of at most `most` bytes at a scalar attribute, or "".
std::string textAttribute(hid_t object, const char* name, std::size_t most);
/// The type that elements are read as: the file's in little-endian order.
TypeHandle memoryType(hid_t dataset);

} // namespace qs::worker
