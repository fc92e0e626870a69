// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Patterns that cut a text: the regular expressions of known tokenizers by hand, so that they are fast and follow our
// own tables; texts; classes of characters; and any other regular expression by PCRE2 with a limit of steps.

#include "core/base/result.h"

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

namespace qs::eval {

/// Calls a function that outlives it, without owning it.
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
    /// Calls `found` with every match from left to right; none is empty, and none begins before the last one's end.
    /// Errors: the limit of steps, as a sentence.
    virtual Result<void> matches(std::string_view text, Found found) const = 0;
};
using PatternPtr = std::shared_ptr<const Pattern>;

/// Runs of characters by a test: each run, or each character, is a match.
PatternPtr characterPattern(bool (*is)(std::uint16_t flags), bool single);
/// "\p{N}{1,most}"
PatternPtr numberPattern(std::size_t most);
/// A text as it stands.
PatternPtr literalPattern(std::string text);
/// Errors are the end of a sentence: "has the pattern ...".
Result<PatternPtr> regexPattern(const std::string& expression);
/// Reads a pattern from {"Regex": ...} or {"String": ...}.
Result<PatternPtr> readPattern(const nlohmann::json& pattern);

} // namespace qs::eval
