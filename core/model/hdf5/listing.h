// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads the answers of the process that reads HDF5. A hostile file could control that process, so every answer is
// checked as if an attacker had written it.

#include "core/model/dtype.h"
#include "core/process/fields.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace qs {

struct Hdf5Row {
    std::string path; ///< "/layers/dense/vars/0"
    std::string
        reason; ///< why it is not read; "" for a tensor. If it is not "", only path, reason and isUnread are set
    bool isUnread = false; ///< `reason` is that of numbers which cannot be read
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    std::uint64_t elements = 0, bytes = 0;
    std::uint64_t stored = 0;                     ///< bytes in the file
    std::string note;                             ///< how it is stored: "gzip in chunks of [16, 32]"; "" if contiguous
    std::map<std::string, std::string> quantized; ///< attributes about the quantized tensor it belongs to; not checked
    std::vector<std::int64_t> quantizedShape;     ///< shape of that tensor; not checked
    std::optional<std::uint64_t> offset; ///< set if elements lie plain in the file part: where they begin, in bytes
};

struct Hdf5Opened {
    std::uint64_t rows = 0;
    std::map<std::string, std::string> metadata; ///< attributes of the root group
};

constexpr std::uint64_t kMostHdf5Rows = 1'000'000;

tl::expected<Hdf5Opened, std::string> hdf5OpenedFrom(const nlohmann::json& answer);
/// Adds the rows of an answer: at least one, at most `most`. `length` is the size of the file part in bytes.
tl::expected<void, std::string> hdf5RowsFrom(const nlohmann::json& answer, std::uint64_t most, std::uint64_t length,
                                             std::vector<Hdf5Row>& rows);

} // namespace qs
