// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Qt's own file dialog (the offscreen platform has no other) driven as a person does.

#include <QFileDialog>
#include <QLineEdit>
#include <QTest>

/// The dialog that has just been opened gets the path and Return, or, without one, Escape. False: there is none.
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
