# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  report/csv.cpp
  report/html.cpp
  report/html_style.cpp
  report/json.cpp
  report/machine.cpp
  report/markdown.cpp
  report/paths.cpp
  report/pdf.cpp
  report/pdf_page.cpp
  report/plot_heat_map.cpp
  report/plot_scatter.cpp
  report/plot_style.cpp
  report/plot_svg.cpp
  report/sha256.cpp
  report/writers.cpp
)
set_source_files_properties(report/machine.cpp PROPERTIES COMPILE_DEFINITIONS QS_VERSION="${PROJECT_VERSION}")
target_link_libraries(qs_core PRIVATE nlohmann_json::nlohmann_json OpenSSL::Crypto PkgConfig::PDF)
