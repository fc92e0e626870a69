// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the window reads is never written by it: every save dialog asks here, by the same rules as the command line.

#include "core/base/result.h"

#include <QString>

#include <functional>

namespace qs::gui {

class Session;

/// A file that is read beside the opened model ("the earlier results"): it counts as an input while the window is open.
void readsBeside(Session& session, const QString& path, const QString& as);

/// Fails when a path is one of what the window reads. A snapshot: for the thread that writes, because files are asked.
using OutputCheck = std::function<Result<void>(const std::string& path)>;
OutputCheck outputCheck(const Session& session);

} // namespace qs::gui
