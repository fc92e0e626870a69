// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads elements [begin, begin + count) of a dataset, counted in C order. HDF5 reads boxes (hyperslabs). The range is
// therefore cut into the largest boxes whose elements are consecutive.

#include "app/worker/hdf5/handle.h"

#include <cstdint>
#include <span>
#include <vector>

namespace qs::worker {

struct Box {
    std::vector<hsize_t> start, count;
    std::uint64_t elements = 0;
};
/// The first box of a range: it begins at element `begin` and has at most `most` elements, which are consecutive.
Box firstBox(std::span<const std::uint64_t> shape, std::uint64_t begin, std::uint64_t most);

/// Returns false if the file cannot be read there.
bool readRange(hid_t dataset, hid_t type, std::span<const std::uint64_t> shape, std::uint64_t begin,
               std::uint64_t count, unsigned char* into);

} // namespace qs::worker
