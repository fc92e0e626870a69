// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a user or a file can cause is a value; nothing is thrown across a module or a thread.

#include <string>
#include <tl/expected.hpp>

namespace qs {

/// One sentence for a person, with the place. `message` is already complete; `path` and `offset` repeat the place for
/// programs (offset -1: none). Text from files inside `message` has been escaped with escapeForPeople().
struct Error {
    std::string message;
    std::string path;
    long long offset = -1;
    bool cancelled = false; ///< the job was cancelled; not a fault
};

template<class T> using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(std::string message, std::string path = {}, long long offset = -1) {
    return tl::unexpected<Error>(Error{std::move(message), std::move(path), offset, false});
}
inline tl::unexpected<Error> cancelledError() { return tl::unexpected<Error>(Error{"cancelled", {}, -1, true}); }

} // namespace qs
