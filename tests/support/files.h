// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Whole files, bytes as hexadecimal text, and text of the standard library as Qt's.

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QString>

#include <string>

namespace qs::test {

inline QString q(const std::string& text) { return QString::fromStdString(text); }

inline QByteArray hex(const char* text) { return QByteArray::fromHex(text); }

/// The bytes of a file that must exist: without it the program ends.
inline QByteArray bytesOf(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) qFatal("cannot read %s", qPrintable(path));
    return file.readAll();
}

/// Writes the file and the folders above it, and returns its path. If it cannot be written, the program ends.
inline QString put(const QString& path, const QByteArray& bytes) {
    QDir().mkpath(QFileInfo(path).path());
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size())
        qFatal("cannot write %s", qPrintable(path));
    return path;
}

inline QString put(const QString& folder, const QString& name, const QByteArray& bytes) {
    return put(folder + QLatin1Char('/') + name, bytes);
}

} // namespace qs::test
