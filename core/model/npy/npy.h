// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One array of NumPy's .npy: magic, version, length, a Python dictionary, data. Rules of numpy/lib/_format_impl.py.

#include "core/model/model.h"

namespace qs {

struct NpyHeader {
    DType dtype = DType::F32;
    bool fortran = false, isBigEndian = false;
    std::vector<std::int64_t> shape; ///< as NumPy says it, also of arrays in Fortran order
    std::uint64_t elements = 0, dataBegin = 0;
};
/// `head`: the first bytes of a file of `fileSize`, at least 16 KiB of them or all. Errors name no file.
Result<NpyHeader> parseNpyHeader(std::span<const std::byte> head, std::uint64_t fileSize);

/// One tensor, called as the file is.
Result<std::shared_ptr<Model>> openNpy(const std::string& path);

/// The arrays of an .npz archive, called by their keys.
Result<std::shared_ptr<Model>> openNpz(const std::string& path);

/// Puts an array into `tensor` whose file (header included) begins at `begin` of `file`, and which lies there or in
/// memory (see placeStrided).
Result<void> placeNpy(TensorInfo& tensor, const NpyHeader& header, std::shared_ptr<MappedFile> file,
                      std::uint64_t begin, bool isMemory);

} // namespace qs
