# SPDX-License-Identifier: GPL-3.0-or-later
# One line a file.
target_sources(qs_gui PRIVATE
  widgets/card.cpp
)
