// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/worker/hdf5/handle.h"

#include <string>

namespace qs::worker {

/// Writes an attribute with UTF-8 text of fixed length. Returns false if HDF5 refuses.
inline bool addText(hid_t object, const char* name, const std::string& text) {
    const TypeHandle type(H5Tcopy(H5T_C_S1));
    const SpaceHandle space(H5Screate(H5S_SCALAR));
    if (H5Tset_size(type.get(), text.size() + 1) < 0 || H5Tset_cset(type.get(), H5T_CSET_UTF8) < 0) return false;
    const AttributeHandle made(H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
    return made && H5Awrite(made.get(), type.get(), text.c_str()) >= 0;
}

} // namespace qs::worker
