// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Saves pictures for people to look at in build/<preset>/artefacts.

#include <QCoreApplication>
#include <QDir>
#include <QEvent>
#include <QPixmap>
#include <QWidget>

inline void keepPicture(QWidget& widget, const QString& name) {
    const QString folder = QStringLiteral(QS_BIN_DIR "/../artefacts");
    QDir().mkpath(folder);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest); // for texts that have just changed
    widget.grab().save(folder + QLatin1Char('/') + name + QStringLiteral(".png"));
}
