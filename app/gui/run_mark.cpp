// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/run_mark.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>

namespace qs::gui {
namespace {

/// Start time of a process in ticks since the system started. With the id of the boot it identifies a process.
QByteArray processStart(qint64 process) {
    QFile stat(QStringLiteral("/proc/%1/stat").arg(process)), boot(QStringLiteral("/proc/sys/kernel/random/boot_id"));
    if (!stat.open(QIODevice::ReadOnly)) return {};
    const auto text = stat.readAll();
    const auto fields = text.mid(text.lastIndexOf(')') + 2).split(' '); // the process name may contain spaces
    if (fields.size() < 20 || fields[0] == "Z") return {};              // "Z" is a zombie: the process has ended
    return fields[19] + ' ' + (boot.open(QIODevice::ReadOnly) ? boot.readAll().trimmed() : QByteArray());
}

constexpr auto kMarkName = "running-%1";

} // namespace

RunMark::RunMark(const QString& folder) {
    QDir().mkpath(folder);
    const QDir dir(folder);
    const QString pattern = QString::fromLatin1(kMarkName);
    for (const auto& name : dir.entryList({pattern.arg(QLatin1Char('*'))}, QDir::Files)) {
        QFile mark(dir.filePath(name));
        const auto process = name.mid(pattern.arg(QString()).size()).toLongLong();
        if (process == QCoreApplication::applicationPid() || !mark.open(QIODevice::ReadOnly)) continue;
        if (mark.readAll() == processStart(process)) continue; // another window that is running
        died_ = true;
        mark.remove();
    }
    path_ = dir.filePath(pattern.arg(QCoreApplication::applicationPid()));
    QFile mine(path_);
    if (mine.open(QIODevice::WriteOnly)) mine.write(processStart(QCoreApplication::applicationPid()));
}

RunMark::~RunMark() { QFile::remove(path_); }

} // namespace qs::gui
