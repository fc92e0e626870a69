// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The list of `backends`: what runs here and what does not, with the reason; one row per device.

#include "core/base/column.h"
#include "core/bench/backend/backend.h"

#include <functional>

namespace qs {

struct BackendRow {
    std::size_t source = 0; ///< index in the sources; rows arrive in the order in which they are known
    std::string backend;    ///< id; the file name of a plugin that never answered
    RowState status = RowState::Unavailable;
    std::string reason, hint;
    std::string name, version, license, path;
    bool shipped = true;
    int isolation = 0; ///< QS_ISOLATION_*; 0 unless it was probed
    std::optional<DeviceInfo> device;
    std::string versions; ///< JSON of describe(), including the environment of the worker
};
const Columns<BackendRow>& backendColumns();

/// Probes every source and opens those that are available, a few at a time. `onRow` is called from this thread. A
/// plugin that fails gives a row; only a cancelled job is an error. `onWait` is called once, with the ids that have not
/// answered after some seconds: opening one may take minutes.
Result<void> listBackends(std::span<const BackendSource> sources, const Job& job,
                          const std::function<void(const BackendRow&)>& onRow, const Deadlines& deadlines = {},
                          const std::function<void(const std::string& ids)>& onWait = {});

} // namespace qs
