// SPDX-License-Identifier: GPL-3.0-or-later
// Answers that a compromised HDF5 reader process could send. There must be no crash and no tensor outside the file.
#include "core/model/hdf5/listing.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto object = qs::strictObject(std::string(reinterpret_cast<const char*>(data), size));
    if (!object) return 0;
    (void)qs::hdf5OpenedFrom(*object);
    constexpr std::uint64_t kLength = 100'000;
    std::vector<qs::Hdf5Row> rows;
    if (!qs::hdf5RowsFrom(*object, 1000, kLength, rows)) return 0;
    if (rows.empty() || rows.size() > 1000) std::abort();
    for (const auto& row : rows) {
        if (!row.reason.empty()) continue;
        std::uint64_t elements = 1;
        for (const auto dim : row.shape) {
            if (dim < 0) std::abort();
            elements *= std::uint64_t(dim);
        }
        if (elements != row.elements || row.bytes != elements * std::uint64_t(qs::info(row.dtype).bits) / 8)
            std::abort();
        if (row.offset && (row.bytes > kLength || *row.offset > kLength - row.bytes)) std::abort();
    }
    return 0;
}
