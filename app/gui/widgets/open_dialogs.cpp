// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/open_dialogs.h"

#include "app/gui/session.h"
#include "app/gui/session_saver.h"
#include "app/gui/theme.h"
#include "core/model/file_format.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QMimeData>
#include <QUrl>

namespace qs::gui {

QString weightFilePatterns() {
    QStringList patterns;
    for (const auto& format : fileFormats()) patterns << QString::fromLatin1(format.patterns).split(QLatin1Char(' '));
    patterns.removeAll(QString());
    patterns.removeDuplicates();
    return patterns.join(QLatin1Char(' '));
}

namespace {

void ask(Session& session, QWidget* window, bool folder) {
    auto* dialog = new QFileDialog(window, folder ? QStringLiteral("Open folder") : QStringLiteral("Open file"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(folder ? QFileDialog::Directory : QFileDialog::ExistingFile);
    if (!folder) {
        dialog->setNameFilters({QStringLiteral("Checkpoints and sessions (%1 *.qscope)").arg(weightFilePatterns()),
                                QStringLiteral("All files (*)")});
    }
    if (const auto recent = session.recentFiles(); !recent.isEmpty())
        dialog->setDirectory(QFileInfo(recent.front()).absolutePath());
    QObject::connect(dialog, &QFileDialog::fileSelected, &session,
                     [&session](const QString& path) { session.open(path); });
    dialog->open();
}

} // namespace

void askForFile(Session& session, QWidget* window) { ask(session, window, false); }
void askForFolder(Session& session, QWidget* window) { ask(session, window, true); }

void askForInputs(QWidget* asking, const QString& title, const std::function<void(const QString&)>& chosen) {
    auto* dialog = named(new QFileDialog(asking, title), "inputsDialog");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    dialog->setNameFilters(
        {QStringLiteral("Inputs of layers (%1)").arg(weightFilePatterns()), QStringLiteral("All files (*)")});
    QObject::connect(dialog, &QFileDialog::finished, asking, [dialog, chosen](int result) {
        chosen(result == QDialog::Accepted ? dialog->selectedFiles().value(0) : QString());
    });
    dialog->open();
}

void askWhereToSave(Session& session, SessionSaver& saver, QWidget* window) {
    if (!session.model()) return;
    auto* dialog = new QFileDialog(window, QStringLiteral("Save session"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setFileMode(QFileDialog::AnyFile);
    dialog->setNameFilter(QStringLiteral("QuantScope sessions (*.qscope)"));
    dialog->setDefaultSuffix(QStringLiteral("qscope"));
    const auto opened = QString::fromStdString(session.model()->path);
    dialog->setDirectory(QFileInfo(opened).absolutePath());
    dialog->selectFile(QFileInfo(opened).completeBaseName() + QStringLiteral(".qscope"));
    QObject::connect(dialog, &QFileDialog::fileSelected, &saver, [&saver](const QString& path) { saver.save(path); });
    dialog->open();
}

QString droppedPath(const QMimeData* mime) {
    if (!mime) return {};
    for (const auto& url : mime->urls())
        if (url.isLocalFile()) return url.toLocalFile();
    return {};
}

} // namespace qs::gui
