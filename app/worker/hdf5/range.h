// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Elements [begin, begin + count) of a dataset in C order, read as the largest boxes that such a range is made of.

#include "app/worker/hdf5/handle.h"

#include <cstdint>
#include <span>
#include <vector>

namespace qs::worker {

struct Box {
    std::vector<hsize_t> start, count;
    std::uint64_t elements = 0;
};
/// The first box of the range: it begins at element `begin` and has at most `most` elements, which lie side by side.
Box firstBox(std::span<const std::uint64_t> shape, std::uint64_t begin, std::uint64_t most);

/// False where the file cannot be read there.
bool readRange(hid_t dataset, hid_t type, std::span<const std::uint64_t> shape, std::uint64_t begin,
               std::uint64_t count, unsigned char* into);

} // namespace qs::worker
