// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Files built in code, both correct and faulty.

#include "tests/support/files.h"

#include <QByteArray>
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <cstdint>
#include <string>

/// A safetensors file with this header text. `length`, if given, is written instead of the true length.
inline QByteArray madeFile(const QByteArray& header, const QByteArray& data = {}, std::int64_t length = -1) {
    QByteArray bytes;
    const auto n = length >= 0 ? std::uint64_t(length) : std::uint64_t(header.size());
    for (int i = 0; i < 8; ++i) bytes.append(char(n >> (8 * i)));
    return bytes + header + data;
}

/// For example `"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}`.
inline QByteArray entry(const QByteArray& name, const QByteArray& dtype, const QByteArray& shape,
                        const QByteArray& offsets) {
    return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

using qs::test::bytesOf, qs::test::put;

inline QString text(const std::string& s) { return QString::fromStdString(s); }

inline QByteArray zeros(int n) { return QByteArray(n, '\0'); }

/// A file with one F32 tensor of four elements.
inline QByteArray smallFile(const QByteArray& name = "w", char fill = '\0') {
    return madeFile("{" + entry(name, "F32", "[4]", "[0,16]") + "}", QByteArray(16, fill));
}

/// All names in a folder, including hidden files, sorted.
inline QStringList namesIn(const QString& folder) {
    return QDir(folder).entryList(QDir::AllEntries | QDir::Hidden | QDir::System | QDir::NoDotAndDotDot, QDir::Name);
}
