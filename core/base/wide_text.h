// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// UTF-8 as the text of Qt.

#include <QString>
#include <string_view>

namespace qs {

/// Every character of the text. QString::fromUtf8() alone takes a U+FEFF at the start for a mark of the encoding and
/// drops it.
inline QString wideText(std::string_view text) {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    qsizetype marks = 0;
    for (; text.starts_with(kMark); ++marks) text.remove_prefix(kMark.size());
    const QString rest = QString::fromUtf8(text.data(), qsizetype(text.size()));
    return marks == 0 ? rest : QString(marks, QChar(0xFEFF)) + rest;
}

} // namespace qs
