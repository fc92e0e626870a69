// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Faults that a user or a file can cause are values. No exception crosses a module or a thread.

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace qs {

/// An error. `message` says what is wrong and where. `path` and `offset` repeat the place for programs; offset -1 means
/// none. Text from files in `message` has been escaped with escapeForPeople(). People read sentence().
struct Error {
    std::string message;
    std::string path;
    long long offset = -1;
    bool cancelled = false;              ///< the job was cancelled; this is not a fault
    std::vector<std::string> works = {}; ///< what would be accepted, nearest first: specs as text; empty: not known

    /// "MESSAGE: use A or B".
    std::string sentence() const {
        std::string text = message;
        for (const std::string& one : works) text += (&one == works.data() ? ": use " : " or ") + one;
        return text;
    }
};

template<class T> using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(std::string message, std::string path = {}, long long offset = -1) {
    return tl::unexpected<Error>(Error{std::move(message), std::move(path), offset, false});
}
/// With what would be accepted instead.
inline tl::unexpected<Error> advise(std::string message, std::vector<std::string> works) {
    return tl::unexpected<Error>(Error{std::move(message), {}, -1, false, std::move(works)});
}
/// The same error, with its place in front: "PLACE: MESSAGE".
inline tl::unexpected<Error> failAt(const std::string& place, Error error) {
    error.message = place + ": " + error.message;
    return tl::unexpected<Error>(std::move(error));
}
inline tl::unexpected<Error> cancelledError() { return tl::unexpected<Error>(Error{"cancelled", {}, -1, true}); }

} // namespace qs
