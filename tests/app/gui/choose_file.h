// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Operates Qt's own file dialog like a user. The offscreen platform has no other dialog.

#include <QFileDialog>
#include <QLineEdit>
#include <QTest>

/// Types the path and Return into the open dialog; for an empty path, Escape. Returns false if no dialog is open.
inline bool chooseFile(QWidget& asking, const QString& path) {
    QFileDialog* dialog = nullptr;
    const auto shown = [&] {
        dialog = asking.findChild<QFileDialog*>();
        return dialog && dialog->isVisible();
    };
    if (!QTest::qWaitFor(shown, 60'000)) return false;
    if (path.isEmpty()) {
        QTest::keyClick(dialog, Qt::Key_Escape);
    } else {
        auto* name = dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"));
        if (!name) return false;
        name->setText(path);
        QTest::keyClick(name, Qt::Key_Return);
    }
    return QTest::qWaitFor([&] { return !asking.findChild<QFileDialog*>(); }, 60'000);
}
