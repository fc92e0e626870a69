// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/hdf5/range.h"

#include <algorithm>

namespace qs::worker {

Box firstBox(std::span<const std::uint64_t> shape, std::uint64_t begin, std::uint64_t most) {
    const std::size_t rank = shape.size();
    Box box;
    box.start.assign(rank, 0);
    box.count.assign(rank, 1);
    for (std::size_t i = rank; i-- > 0; begin /= shape[i]) box.start[i] = begin % shape[i];
    // Go from the last axis to the first. Take an axis whole while the range covers all of its elements.
    std::size_t axis = rank - 1;
    std::uint64_t inner = 1;
    while (axis > 0 && box.start[axis] == 0 && inner * shape[axis] <= most) {
        box.count[axis] = shape[axis];
        inner *= shape[axis--];
    }
    box.count[axis] = std::min<std::uint64_t>(shape[axis] - box.start[axis], most / inner);
    box.elements = inner * box.count[axis];
    return box;
}

bool readRange(hid_t dataset, hid_t type, std::span<const std::uint64_t> shape, std::uint64_t begin,
               std::uint64_t count, unsigned char* into) {
    const std::size_t size = H5Tget_size(type);
    if (count == 0) return true;
    if (shape.empty()) return H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, into) >= 0;
    const SpaceHandle file(H5Dget_space(dataset));
    if (!file) return false;
    while (count > 0) {
        const Box box = firstBox(shape, begin, count);
        const hsize_t flat = box.elements;
        const SpaceHandle memory(H5Screate_simple(1, &flat, nullptr));
        if (!memory ||
            H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, box.start.data(), nullptr, box.count.data(), nullptr) < 0 ||
            H5Dread(dataset, type, memory.get(), file.get(), H5P_DEFAULT, into) < 0)
            return false;
        into += box.elements * size;
        begin += box.elements;
        count -= box.elements;
    }
    return true;
}

} // namespace qs::worker
