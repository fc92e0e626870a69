// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Colours of more series than the four data colours can tell apart: those first, then others of like weight. The mark's
// shape differs too, because nobody tells twelve hues apart.

#include <cstddef>

namespace qs {

/// "#5AA9FF"; at least 3:1 against the card.
const char* seriesColour(std::size_t series, bool dark);
enum class SeriesMark { Disk, Square, Diamond, Triangle };
SeriesMark seriesMark(std::size_t series);

} // namespace qs
