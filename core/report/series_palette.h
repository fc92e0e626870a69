// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Colours for more series than the four data colours: those four first, then others of similar weight. The shape of the
// mark differs too, because people cannot tell twelve hues apart.

#include <cstddef>

namespace qs {

/// "#5AA9FF". The contrast with the card is at least 3:1.
const char* seriesColour(std::size_t series, bool dark);
enum class SeriesMark { Disk, Square, Diamond, Triangle };
SeriesMark seriesMark(std::size_t series);

} // namespace qs
