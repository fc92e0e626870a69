// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Explanations of the cards in plain words. Formulas, units and directions come from the metrics registry.

#include <QString>

#include <span>

namespace qs::gui {

struct CardEntry {
    const char* title;   ///< title of the card
    const char* text;    ///< what the card shows and how to read it
    const char* metrics; ///< ids of metrics whose formulas are appended, separated by spaces; may be empty
};
std::span<const CardEntry> cardEntries();
/// The explanation and one line for each metric, as plain text; "" for an unknown title.
QString aboutCard(const QString& title);

} // namespace qs::gui
