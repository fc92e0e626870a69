// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace qs::gui {

struct Tokens;

/// The style sheet over Fusion, every colour out of the tokens. Widgets choose a look by object name or by the dynamic
/// properties `role` ("title", "caption", "number", "figure", "warn", "primary", "quiet", "bar").
QString styleSheet(const Tokens& tokens, bool dark);

} // namespace qs::gui
