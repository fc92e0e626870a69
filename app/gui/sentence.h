// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Messages of core as text of the window.

#include "core/base/result.h"
#include "core/base/text.h"

#include <QString>

namespace qs::gui {

/// An error in one line.
inline QString errorSentence(const Error& error) { return QString::fromStdString(oneSentence(error.sentence())); }

/// With a capital letter at the start; not for texts that may start with a path.
inline QString capitalized(QString text) {
    if (!text.isEmpty()) text[0] = text[0].toUpper();
    return text;
}

} // namespace qs::gui
