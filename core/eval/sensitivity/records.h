// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Figures of finished runs in a file, so that a measurement goes on where it was stopped. One line a run: its key, its
// numbers, a checksum. Lines are appended whole; a line that is torn, changed or of another version is ignored.

#include "core/base/result.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace qs::eval {

/// SHA-256 in lower-case hex.
std::string sha256OfText(const std::string& text);

class Records {
public:
    /// `folder` is made where it is missing; empty: nothing is kept. `about`: everything on which all runs of the file
    /// depend. Error: the folder or the file cannot be written.
    static Result<Records> open(const std::string& folder, const std::string& about);

    /// Of the run that `key` describes; none: it was not kept.
    std::optional<std::vector<double>> find(const std::string& key) const;
    Result<void> add(const std::string& key, const std::vector<double>& values);

private:
    std::string path_, about_; ///< path_ empty: nothing is kept
    bool isTorn_ = false;      ///< the file ends within a line
    std::map<std::string, std::vector<double>> known_;
};

} // namespace qs::eval
