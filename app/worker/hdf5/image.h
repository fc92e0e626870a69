// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Makes a whole HDF5 file in memory, in the sandbox. This process opens no file; the program writes the bytes to disk.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace qs::worker {

struct Part {
    std::string path;   ///< name of the dataset, e.g. "/results/0/values"; missing groups are created
    bool isText = true; ///< true: the values are bytes (U8); false: doubles (F64)
    std::vector<std::uint64_t> shape;
    std::span<const unsigned char> values; ///< the values as bytes, little-endian
};

/// The bytes of the file; empty if HDF5 refuses. Equal parts always give equal bytes.
std::vector<unsigned char> makeImage(std::span<const Part> parts, const std::map<std::string, std::string>& attributes);

} // namespace qs::worker
