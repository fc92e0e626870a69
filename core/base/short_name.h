// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Names of tensors where room is short. Parts are separated by '.' or '/'. Parts with a digit (layers, experts) stay.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

/// Whether a text has room.
using Fits = std::function<bool(std::string_view)>;

/// The name cut to the room. It loses, in this order: a last part "weight" or "kernel"; parts before the first number; parts
/// between; the middle of its last word. "…" stands for lost parts, but for the last one.
std::string nameWithin(std::string_view name, const Fits& fits);
std::string nameWithin(std::string_view name, std::size_t chars);

/// What names of one list have in common: the parts that at least half of them begin with, and the last part.
class SharedParts {
public:
    SharedParts() = default;
    /// `name(i)` for i < count; the texts must live during the call.
    SharedParts(std::size_t count, const std::function<std::string_view(std::size_t)>& name);

    /// The name without these parts. The whole name, where another one of the list would be called the same.
    std::string_view brief(std::string_view name) const;
    /// "Names are without "model.layers." and ".weight"."; empty: nothing is shared.
    std::string sentence() const;

private:
    std::string_view cut(std::string_view name) const;

    std::vector<std::string> front_;       ///< each with its separator: "model.", "layers."
    std::string back_;                     ///< ".weight"
    std::vector<std::uint64_t> ambiguous_; ///< hashes of short names that two names have, sorted
};

} // namespace qs
