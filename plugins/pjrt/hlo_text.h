// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Converts the optimized program of a PJRT plugin to XLA's HLO text, with one instruction per line. The messages are
// defined in openxla/xla: xla/service/hlo.proto and xla/xla_data.proto. Fields that do not help a reader are left out.
// Constants of more than one element are written as {...}, as in XLA's own short form.

#include <string>
#include <string_view>

namespace qs::pjrt {

/// `serialized` is an HloModuleProtoWithConfig ("hlo_with_config") or only its module. Returns "" if it is neither.
std::string hloText(std::string_view serialized);

} // namespace qs::pjrt
