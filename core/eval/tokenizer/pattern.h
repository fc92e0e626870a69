// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Patterns that cut a text. The regular expressions of known tokenizers are written by hand, so that they are fast and
// use our own tables of characters. There are also patterns for a text and for a class of characters. Any other regular
// expression runs in PCRE2 with a limit of steps.

#include "core/base/result.h"

#include <chrono>
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
    /// Calls `found` with every match from left to right. Matches are not empty and do not overlap. Error: a limit of
    /// steps or of time is reached.
    virtual Result<void> matches(std::string_view text, Found found) const = 0;
};
using PatternPtr = std::shared_ptr<const Pattern>;

/// Limits the processor time that regular expressions take for one text. A match has a limit of steps, but a text may
/// have a match at each byte. It holds for the thread that made it, until its end; without one only matches are limited.
class PatternTime {
public:
    explicit PatternTime(std::size_t textBytes);
    ~PatternTime();
    PatternTime(const PatternTime&) = delete;
    PatternTime& operator=(const PatternTime&) = delete;
    /// Seconds for a text of so many bytes: far more than any tokenizer in use needs.
    static double limit(std::size_t textBytes) { return 2 + double(textBytes) * 4e-6; }
    /// The limit in seconds if this thread has passed it; else 0.
    static double passed();

private:
    double limit_, cpuAtStart_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    const PatternTime* outer_;
};

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
