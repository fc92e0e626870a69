// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What each card tells, in plain words; formulas, units and directions are those of the metrics registry.

#include <QString>

#include <span>

namespace qs::gui {

struct CardEntry {
    const char* title;   ///< of the card as it is made
    const char* text;    ///< what it shows and how to read it
    const char* metrics; ///< ids of the registry whose formulas it needs, with spaces between; may be empty
};
std::span<const CardEntry> cardEntries();
/// The text and a line for each metric, as plain text; "" for a title without an entry.
QString aboutCard(const QString& title);

} // namespace qs::gui
