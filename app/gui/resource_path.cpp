// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/resource_path.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>

namespace qs::gui {

QString resourcePath(const char* installed, const char* inTree) {
    const QDir binary(QCoreApplication::applicationDirPath());
    const QString here = QLatin1String(installed), source = QLatin1String(inTree);
    for (const QString& place : {here, QStringLiteral("../share/quantscope/") + here,
                                 QStringLiteral("../../../") + source, QStringLiteral("../../") + source}) {
        const auto path = QDir::cleanPath(binary.absoluteFilePath(place));
        if (QFileInfo(path).isDir()) return path;
    }
    return {};
}

} // namespace qs::gui
