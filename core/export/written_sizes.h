// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The names and the sizes in bytes of the tensors in written files.

#include "core/model/model.h"

#include <optional>

namespace qs {

/// The hash of a name. Names are not stored, because there may be a million.
struct NameKey {
    std::uint64_t high, low;
    static NameKey of(std::string_view name);
    auto operator<=>(const NameKey&) const = default;
};

/// Names, of which only the hashes are kept.
class NameSet {
public:
    void add(std::string_view name) { keys_.push_back(NameKey::of(name)); }
    void sort(); ///< before has() is asked
    bool has(std::string_view name) const;

private:
    std::vector<NameKey> keys_;
};

/// Looks into the list of the model first, then among the parts of its computed tensors, then into the headers of the
/// files: the list leaves out duplicates and such parts. Only the first needs no memory.
class WrittenSizes {
public:
    explicit WrittenSizes(const Model& written) : written_(written) {}
    Result<std::optional<std::uint64_t>> find(std::string_view name);

private:
    struct Row {
        NameKey key;
        std::uint64_t bytes;
    };
    void add(const TensorInfo& tensor) { rows_.push_back({NameKey::of(tensor.name), tensor.bytes}); }
    void sort();
    std::optional<std::uint64_t> known(const NameKey& key) const;
    void listParts();
    Result<void> readHeaders();

    const Model& written_;
    std::vector<Row> rows_; ///< of parts, or of the headers
    bool hasParts_ = false, isWholeList_ = false;
};

} // namespace qs
