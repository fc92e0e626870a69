// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Tokens and their ids.

#include "core/base/result.h"

#include <cstdint>
#include <nlohmann/json.hpp>
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
    /// An object of tokens with ids. Errors are the end of a sentence: two tokens with one id, an id out of range.
    static Result<Vocabulary> read(const nlohmann::json& object);
    /// Tokens in the order of their ids. One that is there before keeps the id; the later one has its text, but no text
    /// has it.
    static Vocabulary of(std::vector<std::string> tokens);

    std::int32_t size() const { return std::int32_t(tokens_.size()); } ///< largest id + 1
    /// As the file spells it; "" where no token has this id.
    const std::string& tokenOf(std::int32_t id) const;
    std::int32_t idOf(std::string_view token) const; ///< -1: there is none
    const std::vector<std::string>& tokens() const { return tokens_; }

private:
    std::vector<std::string> tokens_;
    std::unordered_map<std::string_view, std::int32_t> ids_; ///< keys are in tokens_
};

/// "<0x0A>" is 10; -1: not of this form.
int byteOfToken(std::string_view token);

/// A space in vocabularies that do not spell bytes: U+2581.
inline constexpr std::string_view kSpaceMark = "\u2581";
/// The text with spaces for these marks.
std::string unmarked(std::string_view token);

} // namespace qs::eval
