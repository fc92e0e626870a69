# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core_read PRIVATE
  base/base64.cpp
  base/byte_count.cpp
  base/column.cpp
  base/machine_memory.cpp
  base/nearest_word.cpp
  base/parallel.cpp
  base/random.cpp
  base/shared_text.cpp
  base/short_name.cpp
  base/symlog.cpp
  base/text.cpp
)
