// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A user's own codebooks: one JSON file each, ID.json, in a folder; their ids are formats like any other.
//
//   {"version": 1, "id": "my4", "title": "My 4 bits", "levels": [-1, ..., 1], "made": "codebook:bits=4 of layers.0..."}
//
// Levels are in units of the absolute maximum of a scale group.

#include "core/base/result.h"
#include "core/quant/spec/spec.h"

namespace qs {

struct UserFormat {
    std::string id;            ///< a to z, digits and _, 32 at most, a letter first
    std::string title;         ///< shown; "" = the id
    std::string made;          ///< where the levels come from
    std::vector<float> levels; ///< 3 to 256, ascending, finite
};

/// $QUANTSCOPE_FORMATS, else quantscope/formats below $XDG_DATA_HOME or ~/.local/share.
std::string userFormatsFolder();
/// The reason when it cannot be a format: its id, its levels.
Result<void> check(const UserFormat& format);
/// Files above 64 KiB and everything malformed are refused with what is wrong.
Result<UserFormat> readUserFormat(const std::string& path);
/// From now on every spec may name it. A known id is refused, unless it has the same levels.
Result<void> addUserFormat(const UserFormat& format);
/// Adds it, and writes its file for the next run; returns the path.
Result<std::string> saveUserFormat(const UserFormat& format, const std::string& folder = userFormatsFolder());
/// Adds all of a folder's; a sentence for each that was refused. No folder is no problem.
std::vector<std::string> loadUserFormats(const std::string& folder = userFormatsFolder());

/// A user's codebook travels with a file as a `codebook`: the spec that any other installation reads.
bool isUserFormat(const QuantSpec& spec);
QuantSpec asCodebookSpec(const QuantSpec& spec);
/// Its levels, the last one repeated up to 2^bits.
std::vector<float> storedLevels(const QuantSpec& spec);

} // namespace qs
