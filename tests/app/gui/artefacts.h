// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Pictures that tests leave for people to look at: build/<preset>/artefacts.

#include <QDir>
#include <QPixmap>
#include <QWidget>

inline void keepPicture(QWidget& widget, const QString& name) {
    const QString folder = QStringLiteral(QS_BIN_DIR "/../artefacts");
    QDir().mkpath(folder);
    widget.grab().save(folder + QLatin1Char('/') + name + QStringLiteral(".png"));
}
