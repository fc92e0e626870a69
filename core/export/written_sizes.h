// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The sizes in bytes of the tensors in written files.

#include "core/model/model.h"

#include <optional>

namespace qs {

/// Looks into the list of the model first, then among the parts of its computed tensors, then into the headers of the
/// files: the list leaves out duplicates and such parts. Only the first needs no memory.
class WrittenSizes {
public:
    explicit WrittenSizes(const Model& written) : written_(written) {}
    Result<std::optional<std::uint64_t>> find(std::string_view name);

private:
    /// 128 bits of the hash of a name. Names are not stored, because there may be a million.
    using Key = std::pair<std::uint64_t, std::uint64_t>;
    struct Row {
        Key key;
        std::uint64_t bytes;
    };
    static Key keyOf(std::string_view name);
    void add(const TensorInfo& tensor) { rows_.push_back({keyOf(tensor.name), tensor.bytes}); }
    void sort();
    std::optional<std::uint64_t> known(Key key) const;
    void listParts();
    Result<void> readHeaders();

    const Model& written_;
    std::vector<Row> rows_; ///< of parts, or of the headers
    bool hasParts_ = false, isWholeList_ = false;
};

} // namespace qs
