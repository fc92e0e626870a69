// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Lays a file of HDF5 out without its elements: libhdf5 makes every header, link and attribute and says where elements
// go; the program writes both down. In the same sandbox, in memory.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace qs::worker {

struct PlannedSet {
    std::string path; ///< "/layers.0.weight.codes"; groups on the way are made
    std::string type; ///< as core/model/dtype.h spells it
    std::vector<std::uint64_t> shape;
    nlohmann::json attributes; ///< an object of texts and lists of integers
};

struct FilePlan {
    std::vector<std::uint64_t> offsets; ///< of the elements of each set; 0 where it has none
    std::uint64_t end = 0;              ///< the file's size
    std::vector<unsigned char> between; ///< all bytes that are no elements, in order
};

/// False when HDF5 refuses. The same sets give the same plan.
bool planFile(const std::vector<PlannedSet>& sets, const nlohmann::json& attributes, FilePlan& plan);

} // namespace qs::worker
