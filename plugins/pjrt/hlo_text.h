// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a PJRT plugin gives as its optimized program, as people read it: XLA's HLO text, an instruction a line. The
// messages are those of openxla/xla:xla/service/hlo.proto and xla/xla_data.proto; fields that say nothing here are left
// out, constants of more than one element are {...}, as in XLA's own short form.

#include <string>
#include <string_view>

namespace qs::pjrt {

/// `serialized`: an HloModuleProtoWithConfig ("hlo_with_config") or its module alone. "" when it is neither.
std::string hloText(std::string_view serialized);

} // namespace qs::pjrt
