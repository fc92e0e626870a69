// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The texts (JSON) that a session file holds beside its recipe and its numbers. Whoever wrote the file wrote them: every
// length and count is limited.

#include "core/session/session_file.h"

#include <cstdint>
#include <string>

namespace qs {

struct SessionHead {
    SessionFile session;           ///< all but the recipe and the results
    std::uint64_t results = 0;     ///< how many there are
    std::vector<std::string> kept; ///< names of what pages have computed
};

std::string sessionText(const SessionFile& session);
Result<SessionHead> sessionFromText(const std::string& text);

std::string sessionResultsText(const SessionResults& results); ///< all but the values
Result<SessionResults> sessionResultsFromText(const std::string& text);

} // namespace qs
