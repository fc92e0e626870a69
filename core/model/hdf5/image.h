// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Makes an HDF5 file of texts and tables of doubles, for session files. libhdf5 runs in the sandboxed process.

#include "core/base/result.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace qs {

struct Hdf5Text {
    std::string path, text;
};
struct Hdf5Table {
    std::string path;
    std::size_t columns = 1;
    std::vector<double> values; ///< row by row
};

/// The bytes of the file. `path` is its name in messages.
Result<std::string> hdf5Image(const std::string& path, const std::map<std::string, std::string>& attributes,
                              const std::vector<Hdf5Text>& texts, const std::vector<Hdf5Table>& tables);

} // namespace qs
