# SPDX-License-Identifier: GPL-3.0-or-later
# One line a file.
target_sources(qs_gui PRIVATE
  widgets/card.cpp
  widgets/colour_scale.cpp
  widgets/heat_map.cpp
  widgets/heat_map_paint.cpp
  widgets/ranked_bars.cpp
)
