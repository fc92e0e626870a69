// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/known_backends.h"

#include <QFileInfo>
#include <QSettings>

namespace qs::gui {
namespace {

constexpr const char* kPlugins = "backends/plugins"; // key in the settings

} // namespace

QStringList keptPlugins() {
    QStringList paths = QSettings().value(QLatin1String(kPlugins)).toStringList();
    paths.removeIf([](const QString& path) { return !QFileInfo::exists(path); });
    return paths;
}

void keepPlugins(const QStringList& paths) { QSettings().setValue(QLatin1String(kPlugins), paths); }

QString pluginOf(const BackendSource& source) {
    const auto* path = source.shipped ? source.option("path") : nullptr;
    return QString::fromStdString(path ? *path : source.path);
}

std::vector<BackendSource> knownBackends(const QStringList& plugins) {
    std::vector<std::string> paths;
    for (const QString& path : plugins) paths.push_back(path.toStdString());
    return backendSources(paths);
}

} // namespace qs::gui
