// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Describes one HDF5 dataset: its type, shape and storage, or the reason why it is not read.

#include "app/worker/hdf5/handle.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace qs::worker {

struct Found {
    std::string path;
    std::string reason;         ///< why it is not read: "is a soft link, which is never followed"; "" for a tensor
    bool isUnread = false;      ///< `reason` is that of numbers which cannot be read
    std::string type;           ///< an id of core/model/dtype.h, or "opaque2" for two bytes of unknown meaning
    std::string note;           ///< how the elements are stored, e.g. "gzip in chunks of [16, 32]"; "" if contiguous
    std::string dtypeAttribute; ///< value of the attribute "dtype", which Keras writes, e.g. "bfloat16"; "" if none
    std::map<std::string, std::string> quantized; ///< attributes "quantscope_NAME" of our exports: NAME -> text
    std::vector<std::int64_t> quantizedShape;     ///< attribute "quantscope_shape": shape of the original tensor
    std::size_t quantizedText = 0;                ///< size of the texts in `quantized`, in bytes
    std::vector<std::uint64_t> shape;
    std::uint64_t address = 0;           ///< address of the object header in the file
    std::uint64_t bytes = 0, stored = 0; ///< size of all elements: unpacked; in the file
    bool plain = false;                  ///< true if all elements lie at `offset`, contiguous and little-endian
    std::uint64_t offset = 0;            ///< bytes from the beginning of the file part; valid if `plain`
    std::uint64_t chunkCache = 0; ///< size of the chunk cache, in bytes, with which each chunk is unpacked only once
};

/// Fills in all fields but path and address. It never reads elements.
void describe(hid_t dataset, Found& found);
/// The text of a scalar attribute. Returns "" if there is none or if it has more than `most` bytes.
std::string textAttribute(hid_t object, const char* name, std::size_t most);
/// The type in which elements are read: the type of the dataset, in little-endian order.
TypeHandle memoryType(hid_t dataset);

} // namespace qs::worker
