// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Shortens tensor names. Parts of a name are separated by '.' or '/'. Parts with a digit (layers, experts) are kept.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

/// Whether a text fits.
using Fits = std::function<bool(std::string_view)>;

/// Shortens a name until it fits. It drops, in this order: a last part "weight" or "kernel"; parts before the first
/// number; parts between; the middle of the last word. "…" stands for dropped parts, except for a dropped last part.
std::string nameWithin(std::string_view name, const Fits& fits);
/// The same with a limit in characters.
std::string nameWithin(std::string_view name, std::size_t chars);

/// What the names of one list have in common: leading parts that at least half of them have, and the last part.
class SharedParts {
public:
    SharedParts() = default;
    /// name(i) gives the name i < count. The texts must live during the call only.
    SharedParts(std::size_t count, const std::function<std::string_view(std::size_t)>& name);

    /// The name without the common parts; the whole name if another name of the list would become equal.
    std::string_view brief(std::string_view name) const;
    /// A sentence: "Names are without "model.layers." and ".weight"."; empty if nothing is common.
    std::string sentence() const;

private:
    std::string_view cut(std::string_view name) const;

    std::vector<std::string> front_;       ///< each with its separator, e.g. "model." and "layers."
    std::string back_;                     ///< e.g. ".weight"
    std::vector<std::uint64_t> ambiguous_; ///< hashes of short names that more than one name has, sorted
};

} // namespace qs
