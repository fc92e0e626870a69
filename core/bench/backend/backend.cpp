// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/backend.h"

namespace qs {

const char* rowStateText(RowState state) {
    switch (state) {
    case RowState::Ok: return "ok";
    case RowState::Available: return "available";
    case RowState::NeedsConfig: return "needs_config";
    case RowState::CompileOnly: return "compile_only";
    case RowState::Unavailable: return "unavailable";
    case RowState::NotBuilt: return "not_built";
    case RowState::Declined: return "declined";
    case RowState::Wrong: return "wrong";
    case RowState::Invalid: return "invalid";
    case RowState::Crashed: return "crashed";
    case RowState::Hung: return "hung";
    case RowState::Failed: return "failed";
    case RowState::Cancelled: return "cancelled";
    }
    return "";
}

} // namespace qs
