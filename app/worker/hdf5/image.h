// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A file of HDF5 made in memory, in the same sandbox: nothing is opened, the program writes the bytes down.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace qs::worker {

struct Part {
    std::string path;   ///< "/results/0/values"; groups on the way are made
    bool isText = true; ///< bytes (U8), else doubles (F64)
    std::vector<std::uint64_t> shape;
    std::span<const unsigned char> values;
};

/// The file's bytes; empty when HDF5 refuses. The same parts give the same bytes.
std::vector<unsigned char> makeImage(std::span<const Part> parts, const std::map<std::string, std::string>& attributes);

} // namespace qs::worker
