// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The common part of our two libhdf5 file drivers. HDF5 calls a driver for all input and output of a file. Each file
// keeps one list of free space, and the end of its used addresses.

#include "app/worker/hdf5/handle.h"

#include <cstdlib>
#include <hdf5.h>

namespace qs::worker {

struct DriverFile {
    H5FD_t base; ///< must be the first member; HDF5 fills it in
    haddr_t end; ///< first address behind those in use

    static DriverFile& of(const H5FD_t* file) { return *reinterpret_cast<DriverFile*>(const_cast<H5FD_t*>(file)); }
    static H5FD_t* open(const char*, unsigned, hid_t, haddr_t) {
        auto* file = static_cast<DriverFile*>(std::calloc(1, sizeof(DriverFile)));
        return file ? &file->base : nullptr;
    }
    static herr_t close(H5FD_t* file) {
        std::free(file);
        return 0;
    }
    static haddr_t getEnd(const H5FD_t* file, H5FD_mem_t) { return of(file).end; }
    static herr_t setEnd(H5FD_t* file, H5FD_mem_t, haddr_t address) {
        of(file).end = address;
        return 0;
    }
    template<unsigned long Flags> static herr_t query(const H5FD_t*, unsigned long* flags) {
        if (flags) *flags = Flags;
        return 0;
    }
};

/// Makes a driver class in which get_eof, read and write are not set yet: the caller sets them. `number` must be unique
/// among the drivers of the process. `Flags` are H5FD_FEAT_*.
template<unsigned long Flags> H5FD_class_t driverClass(const char* name, int number) {
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
    c.open = DriverFile::open;
    c.close = DriverFile::close;
    c.query = DriverFile::query<Flags>;
    c.get_eoa = DriverFile::getEnd;
    c.set_eoa = DriverFile::setEnd;
    return c;
}

/// The settings with which HDF5 opens or creates a file through this driver. An empty handle if HDF5 refuses.
inline ListHandle accessThrough(const H5FD_class_t& driver) {
    const hid_t id = H5FDregister(&driver);
    ListHandle access(H5Pcreate(H5P_FILE_ACCESS));
    if (id < 0 || !access || H5Pset_driver(access.get(), id, nullptr) < 0) return ListHandle();
    return access;
}

} // namespace qs::worker
