// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Writes an HDF5 file with one dataset for every tensor, contiguous and in little-endian order. libhdf5 runs in a
// sandboxed process and only plans the layout of the file. This process writes it, once from beginning to end.

#include "core/model/safetensors/safetensors.h"

#include <map>
#include <string>
#include <vector>

namespace qs {

struct Hdf5Attributes {
    std::map<std::string, std::string> texts;
    std::map<std::string, std::vector<std::int64_t>> numbers;
};

/// `described` has the attributes of each dataset by the name of its tensor; "" stands for the root group. Otherwise it
/// is like writeSafetensors(). A name with slashes is a path through groups. HDF5 has no 8-bit floats: they are stored
/// as U8 with the attribute "dtype", whose value is the name in ml_dtypes. Types that HDF5 cannot store are an error.
Result<std::uint64_t> writeHdf5(const std::string& path, TensorsToWrite tensors,
                                const std::map<std::string, Hdf5Attributes>& described, const Model* opened,
                                const Job& job, const Naming& naming = {});

} // namespace qs
