// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Pictures that tests leave for people to look at: build/<preset>/artefacts.

#include <QCoreApplication>
#include <QDir>
#include <QEvent>
#include <QPixmap>
#include <QWidget>

inline void keepPicture(QWidget& widget, const QString& name) {
    const QString folder = QStringLiteral(QS_BIN_DIR "/../artefacts");
    QDir().mkpath(folder);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest); // of texts that have just changed
    widget.grab().save(folder + QLatin1Char('/') + name + QStringLiteral(".png"));
}
