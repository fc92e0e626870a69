// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What our drivers of libhdf5 have in common: a file descriptor of its own kind with one kind of free space.

#include <hdf5.h>

namespace qs::worker {

/// A class without functions; `number` is its own among the drivers of the process.
inline H5FD_class_t driverClass(const char* name, int number) {
    H5FD_class_t c{};
#ifdef H5FD_CLASS_VERSION
    c.version = H5FD_CLASS_VERSION;
    c.value = H5FD_class_value_t(number);
#else
    (void)number;
#endif
    c.name = name;
    c.maxaddr = haddr_t(1) << 62;
    c.fc_degree = H5F_CLOSE_STRONG;
    const H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
    for (int i = 0; i < H5FD_MEM_NTYPES; ++i) c.fl_map[i] = map[i];
    return c;
}

} // namespace qs::worker
