// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A file of HDF5 with a dataset for every tensor, contiguous and in little-endian order. Defined in core/hdf5: libhdf5
// runs in its sandboxed process and only lays the file out; this program writes it, once from beginning to end.

#include "core/model/safetensors/safetensors.h"

#include <map>
#include <string>
#include <vector>

namespace qs {

struct Hdf5Attributes {
    std::map<std::string, std::string> texts;
    std::map<std::string, std::vector<std::int64_t>> numbers;
};

/// `described`: attributes of datasets by the tensor's name; "": of the root group. As writeSafetensors() otherwise. A
/// name with slashes is a path through groups. 8-bit floats, which HDF5 does not have, are U8 with the attribute
/// "dtype" as ml_dtypes calls them; what it cannot hold is refused with the reason.
Result<std::uint64_t> writeHdf5(const std::string& path, std::vector<TensorToWrite> tensors,
                                const std::map<std::string, Hdf5Attributes>& described, const Model* opened,
                                const Job& job, const Naming& naming = {});

} // namespace qs
