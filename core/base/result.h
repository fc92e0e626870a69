// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Faults that a user or a file can cause are values. No exception crosses a module or a thread.

#include <string>
#include <tl/expected.hpp>

namespace qs {

/// An error for people. `message` is one complete sentence that includes the place. `path` and `offset` repeat the
/// place for programs; offset -1 means none. Text from files in `message` has been escaped with escapeForPeople().
struct Error {
    std::string message;
    std::string path;
    long long offset = -1;
    bool cancelled = false; ///< the job was cancelled; this is not a fault
};

template<class T> using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(std::string message, std::string path = {}, long long offset = -1) {
    return tl::unexpected<Error>(Error{std::move(message), std::move(path), offset, false});
}
inline tl::unexpected<Error> cancelledError() { return tl::unexpected<Error>(Error{"cancelled", {}, -1, true}); }

} // namespace qs
