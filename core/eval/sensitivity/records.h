// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Stores the figures of finished runs in a file, so that a stopped measurement can go on. Each run is one line: its
// key, its numbers and a checksum. A line that is not complete, was changed, or has another version is ignored.

#include "core/base/result.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace qs::eval {

class Records {
public:
    /// Creates `folder` if it is missing. If `folder` is empty, nothing is stored. `about` names all that every run of
    /// the file depends on. Error: the folder or the file cannot be written.
    static Result<Records> open(const std::string& folder, const std::string& about);

    /// The figures of the run with this key; nullopt if they are not stored.
    std::optional<std::vector<double>> find(const std::string& key) const;
    Result<void> add(const std::string& key, const std::vector<double>& values);

private:
    std::string path_, about_; ///< if path_ is empty, nothing is stored
    bool isTorn_ = false;      ///< true: the last line of the file is not complete
    std::map<std::string, std::vector<double>> known_;
};

} // namespace qs::eval
