// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The hash of what this program wrote into a file, as a note beside the content: an extended attribute. It tells whether
// somebody has changed the file since. Whoever changes the content leaves the note as it is, or writes a new file, which
// has none. A copy has none either, nor has a file on a file system without attributes.

#include "core/base/result.h"

#include <memory>
#include <span>
#include <string>

struct XXH3_state_s;

namespace qs {

/// XXH3 of 128 bits of a file that is read or written from start to end.
class ContentHash {
public:
    ContentHash();
    /// The next bytes, which begin at `offset`. What no call gave before it is zero.
    void add(std::uint64_t offset, std::span<const std::byte> bytes);
    std::string text() const; ///< in hexadecimal

private:
    struct Free {
        void operator()(XXH3_state_s* state) const;
    };
    std::unique_ptr<XXH3_state_s, Free> state_;
    std::uint64_t at_ = 0;
};

/// Hashes a regular file. Error: it cannot be read.
Result<std::string> contentHashOf(const std::string& path);
/// Notes the hash of an open file that is complete. Does nothing where the file system keeps no attributes.
void noteContent(int file, const std::string& hash);
std::string notedHash(const std::string& path); ///< "" if there is no note
/// Whether the content is the one that was noted.
bool isAsNoted(const std::string& path);

} // namespace qs
