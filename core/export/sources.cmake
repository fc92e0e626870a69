# SPDX-License-Identifier: GPL-3.0-or-later
target_sources(qs_core PRIVATE
  export/certificate.cpp
  export/certificate_change.cpp
  export/certificate_columns.cpp
  export/check_certificate.cpp
  export/decoded_tensors.cpp
  export/equal_values.cpp
  export/export_model.cpp
  export/export_plan.cpp
  export/proof.cpp
  export/recipe.cpp
  export/run_files.cpp
)
