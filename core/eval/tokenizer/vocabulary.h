// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Tokens and their ids.

#include "core/base/result.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace qs::eval {

constexpr std::int32_t kMostIds = 1 << 24;

class Vocabulary {
public:
    Vocabulary() = default;
    Vocabulary(Vocabulary&&) = default;
    Vocabulary& operator=(Vocabulary&&) = default;
    /// Reads an object of tokens with ids. Errors are the end of a sentence: two tokens have the same id, or an id is
    /// out of range.
    static Result<Vocabulary> read(const nlohmann::json& object);
    /// Takes tokens in the order of their ids. If two have the same text, idOf() returns the first one. tokenOf()
    /// returns the text for both.
    static Vocabulary of(std::vector<std::string> tokens);

    std::int32_t size() const { return std::int32_t(tokens_.size()); } ///< largest id + 1
    /// The token as the file spells it; "" if no token has this id.
    const std::string& tokenOf(std::int32_t id) const;
    std::int32_t idOf(std::string_view token) const; ///< -1 if there is no such token
    const std::vector<std::string>& tokens() const { return tokens_; }

private:
    std::vector<std::string> tokens_;
    std::unordered_map<std::string_view, std::int32_t> ids_; ///< keys are in tokens_
};

/// Returns 10 for "<0x0A>", and -1 for a token that does not have this form.
int byteOfToken(std::string_view token);

/// The character for a space in vocabularies that do not spell bytes: U+2581.
inline constexpr std::string_view kSpaceMark = "\u2581";
/// Replaces these marks by spaces.
std::string unmarked(std::string_view token);

} // namespace qs::eval
