// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Plans the layout of an HDF5 file without the elements of its datasets. libhdf5 makes all headers, links and
// attributes in memory, in the sandbox, and says where elements go. The program then writes both to disk.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace qs::worker {

struct PlannedSet {
    std::string path; ///< name of the dataset, e.g. "/layers.0.weight.codes"; missing groups are created
    std::string type; ///< an id of core/model/dtype.h
    std::vector<std::uint64_t> shape;
    nlohmann::json attributes; ///< object; each value is a text or a list of integers
};

struct FilePlan {
    std::vector<std::uint64_t> offsets; ///< for each dataset, where its elements begin; 0 if it has no elements
    std::uint64_t end = 0;              ///< size of the file in bytes
    std::vector<unsigned char> between; ///< all bytes of the file that are not elements, in order
};

/// Returns false if HDF5 refuses. Equal datasets always give equal plans.
bool planFile(const std::vector<PlannedSet>& sets, const nlohmann::json& attributes, FilePlan& plan);

} // namespace qs::worker
