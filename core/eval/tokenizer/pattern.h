// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Patterns that cut a text. The regular expressions of known tokenizers are written by hand, so that they are fast and
// use our own tables of characters. There are also patterns for a text and for a class of characters. Any other regular
// expression runs in PCRE2 with a limit of steps.

#include "core/base/result.h"

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <type_traits>

namespace qs::eval {

/// Refers to a function without owning it. The function must live longer.
template<class Signature> class Callee;
template<class R, class... A> class Callee<R(A...)> {
public:
    template<class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Callee>>>
    Callee(F&& function) // NOLINT: implicit, so that a lambda can be handed over
        : object_(const_cast<void*>(static_cast<const void*>(&function))), call_([](void* object, A... arguments) -> R {
              return (*static_cast<std::remove_reference_t<F>*>(object))(arguments...);
          }) {}
    R operator()(A... arguments) const { return call_(object_, arguments...); }

private:
    void* object_;
    R (*call_)(void*, A...);
};

class Pattern {
public:
    virtual ~Pattern() = default;
    using Found = Callee<void(std::size_t begin, std::size_t end)>;
    /// Calls `found` with every match from left to right. Matches are not empty and do not overlap. Error: the limit of
    /// steps is reached.
    virtual Result<void> matches(std::string_view text, Found found) const = 0;
};
using PatternPtr = std::shared_ptr<const Pattern>;

/// Matches characters for which is(flags) is true: runs of them or, with `single`, each character.
PatternPtr characterPattern(bool (*is)(std::uint16_t flags), bool single);
/// Matches "\p{N}{1,most}".
PatternPtr numberPattern(std::size_t most);
/// Matches exactly this text.
PatternPtr literalPattern(std::string text);
/// Errors are the end of a sentence: "has the pattern ...".
Result<PatternPtr> regexPattern(const std::string& expression);
/// Reads a pattern from {"Regex": ...} or {"String": ...}.
Result<PatternPtr> readPattern(const nlohmann::json& pattern);

} // namespace qs::eval
