// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace qs::gui {

/// Path of a folder that is shipped with the program: `installed` below share/quantscope or beside the program, or
/// `inTree` in the source tree. "" if there is none.
QString resourcePath(const char* installed, const char* inTree);

} // namespace qs::gui
