// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The JSON texts in a session file beside the recipe and the numbers. The file is untrusted, so every length and count
// is limited.

#include "core/session/session_file.h"

#include <cstdint>
#include <string>

namespace qs {

struct SessionHead {
    SessionFile session;           ///< everything except the recipe and the results
    std::uint64_t results = 0;     ///< number of result tables
    std::vector<std::string> kept; ///< names of the stored page results
};

std::string sessionText(const SessionFile& session);
Result<SessionHead> sessionFromText(const std::string& text);

std::string sessionResultsText(const SessionResults& results); ///< everything except the values
Result<SessionResults> sessionResultsFromText(const std::string& text);

} // namespace qs
