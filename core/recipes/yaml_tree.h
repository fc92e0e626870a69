// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Small YAML texts from untrusted files, as a JSON tree. Read by the events of libyaml, so that limits hold before
// anything is built. Refused: aliases (a short text could stand for a huge one), tags, a second document, a key twice,
// keys that are no scalars, nesting deeper than 32.

#include "core/base/result.h"

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace qs {

inline constexpr std::size_t kMostYaml = std::size_t(1) << 20; ///< bytes

/// Scalars without quotes are null, booleans and numbers as YAML 1.1 says (of numbers: decimal ones), else texts. The
/// error message is the end of a sentence: "is not YAML: ... in line 3".
Result<nlohmann::ordered_json> readYamlTree(std::string_view text);

} // namespace qs
