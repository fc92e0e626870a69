// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the reader of HDF5 says is in a file. It has parsed bytes that may be an attack: every answer is checked here
// as if the attacker had written it.

#include "core/model/dtype.h"
#include "core/process/fields.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace qs {

struct Hdf5Row {
    std::string path;   ///< "/layers/dense/vars/0"
    std::string reason; ///< why it is not read, "" for a tensor; of the others only this is set
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    std::uint64_t elements = 0, bytes = 0;
    std::uint64_t stored = 0;                     ///< in the file
    std::string note;                             ///< how, where it is not plainly: "gzip in chunks of [16, 32]"
    std::map<std::string, std::string> quantized; ///< what the file says of the tensor that this is part of, unchecked
    std::vector<std::int64_t> quantizedShape;     ///< of that tensor, unchecked
    std::optional<std::uint64_t> offset; ///< of plain elements, from the beginning of the file part; they lie within
};

struct Hdf5Opened {
    std::uint64_t rows = 0;
    std::map<std::string, std::string> metadata; ///< of the root group
};

constexpr std::uint64_t kMostHdf5Rows = 1'000'000;

tl::expected<Hdf5Opened, std::string> hdf5OpenedFrom(const nlohmann::json& answer);
/// Adds the rows of an answer, at least one and `most` at most. `length` is of the file part.
tl::expected<void, std::string> hdf5RowsFrom(const nlohmann::json& answer, std::uint64_t most, std::uint64_t length,
                                             std::vector<Hdf5Row>& rows);

} // namespace qs
