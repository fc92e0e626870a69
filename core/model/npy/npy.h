// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// NumPy's .npy format, one array per file: magic number, version, header length, a Python dictionary as text, data.
// Rules: numpy/lib/_format_impl.py.

#include "core/model/model.h"

#include <span>

namespace qs {

struct NpyHeader {
    DType dtype = DType::F32;
    bool fortran = false, isBigEndian = false;
    std::vector<std::int64_t> shape;           ///< as in NumPy, also for arrays in Fortran order
    std::uint64_t elements = 0, dataBegin = 0; ///< `dataBegin`: in bytes from the start of the .npy file
};
/// `head`: the first bytes of a file of `fileSize` bytes: 16 KiB, or the whole file if it is shorter. Errors are the
/// ends of sentences and do not name the file.
Result<NpyHeader> parseNpyHeader(std::span<const std::byte> head, std::uint64_t fileSize);

/// False if the header, which parseNpyHeader() refused, is that of an array of texts, records, dates or Python objects.
bool holdsNumbers(std::span<const std::byte> head);

/// A model of one tensor, named after the file.
Result<std::shared_ptr<Model>> openNpy(const std::string& path);

/// A model of the arrays in an .npz archive, named by their keys.
Result<std::shared_ptr<Model>> openNpz(const std::string& path);

/// Sets place, shape and dtype of `tensor`. The .npy file, header included, starts at byte `begin` of `file`. For
/// `isMemory` see placeStrided().
Result<void> placeNpy(TensorInfo& tensor, const NpyHeader& header, std::shared_ptr<MappedFile> file,
                      std::uint64_t begin, bool isMemory);

} // namespace qs
