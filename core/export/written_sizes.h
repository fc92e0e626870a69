// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The sizes in bytes of the tensors in written files.

#include "core/model/model.h"

#include <optional>

namespace qs {

/// Looks into the list of the model first, and into the headers of the files if a name is missing there: the list
/// leaves out duplicates and parts of computed tensors.
class WrittenSizes {
public:
    explicit WrittenSizes(const Model& written);
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
    Result<void> readHeaders();

    const Model& written_;
    std::vector<Row> rows_;
    bool isWholeList_ = false;
};

} // namespace qs
