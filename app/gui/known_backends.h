// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The backends that the window offers: the shipped ones, and the plugins that the user has added on the page Backends.

#include "core/bench/backend/backend.h"

#include <QStringList>

namespace qs::gui {

QStringList keptPlugins(); ///< paths of files that exist
void keepPlugins(const QStringList& paths);
/// The file that the user has added.
QString pluginOf(const BackendSource& source);
std::vector<BackendSource> knownBackends(const QStringList& plugins);

} // namespace qs::gui
