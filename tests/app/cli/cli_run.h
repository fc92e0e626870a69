// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Runs the real quantscope-cli. Also makes small safetensors files byte by byte.

#include "tests/support/files.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTest>
#include <cstring>
#include <vector>

namespace clitest {

using qs::test::bytesOf, qs::test::put;

inline QString binary() { return QStringLiteral(QS_BIN_DIR "/quantscope-cli"); }
inline QString s(const char* text) { return QString::fromLatin1(text); }

inline const QString kSample = QStringLiteral("resources/samples/tiny-llama");
inline const QString kText = kSample + QStringLiteral("/heldout.txt"); ///< of the sample

struct Ran {
    int code = -1;
    QByteArray out, err;
};

inline Ran run(const QStringList& arguments, const QString& stdoutFile = {}) {
    QProcess process;
    auto environment = QProcessEnvironment::systemEnvironment();
    environment.insert(s("SOURCE_DATE_EPOCH"), s("86400"));
    process.setProcessEnvironment(environment);
    if (!stdoutFile.isEmpty()) process.setStandardOutputFile(stdoutFile);
    process.start(binary(), arguments);
    if (!process.waitForFinished(120'000) || process.exitStatus() != QProcess::NormalExit)
        return {-1, process.readAllStandardOutput(), "crashed or hung\n"};
    return {process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError()};
}

/// True if `err` is one line of at most 500 bytes with the program's name and no control characters.
inline bool isSentence(const QByteArray& err) {
    if (!err.startsWith("quantscope-cli: ") || !err.endsWith('\n') || err.count('\n') != 1 || err.size() - 1 > 500)
        return false;
    for (const char c : err.chopped(1))
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
    return true;
}

struct Tensor {
    QByteArray name; ///< as written inside a JSON string
    const char* dtype;
    QByteArray shape;
    QByteArray data;
};

inline QByteArray floats(const std::vector<float>& values) {
    return QByteArray(reinterpret_cast<const char*>(values.data()), qsizetype(values.size() * sizeof(float)));
}
inline QByteArray ramp(int n) {
    std::vector<float> values;
    for (int i = 0; i < n; ++i) values.push_back(float((i * 37) % 101 - 50) / 64);
    return floats(values);
}

inline QByteArray safetensors(const std::vector<Tensor>& tensors) {
    QByteArray header = "{", data;
    for (const auto& t : tensors) {
        if (header.size() > 1) header += ',';
        header += "\"" + t.name + "\":{\"dtype\":\"" + t.dtype + "\",\"shape\":" + t.shape + ",\"data_offsets\":[" +
                  QByteArray::number(data.size()) + "," + QByteArray::number(data.size() + t.data.size()) + "]}";
        data += t.data;
    }
    header += '}';
    while (header.size() % 8) header += ' ';
    const quint64 length = quint64(header.size());
    return QByteArray(reinterpret_cast<const char*>(&length), 8) + header + data;
}

inline QStringList entries(const QString& folder) {
    return QDir(folder).entryList(QDir::AllEntries | QDir::System | QDir::Hidden | QDir::NoDotAndDotDot);
}

inline QJsonArray rows(const QByteArray& json, const char* key = "rows") {
    return QJsonDocument::fromJson(json).object()[s(key)].toArray();
}

} // namespace clitest
