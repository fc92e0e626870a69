// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Keeps the window from overwriting files that it reads. Every save dialog asks here; the rules are those of the
// command line.

#include "core/base/result.h"

#include <QString>

#include <functional>

namespace qs::gui {

class Session;

/// Registers a file that is read beside the opened model, for example earlier results. It counts as an input until the
/// window closes.
void readsBeside(Session& session, const QString& path, const QString& as);

/// Fails when `path` is a file that the window reads. The function holds a snapshot, so that the thread that writes can
/// call it.
using OutputCheck = std::function<Result<void>(const std::string& path)>;
OutputCheck outputCheck(const Session& session);

} // namespace qs::gui
