// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Helpers for tests of exports: makes inputs and checks outputs.

#include "cli_run.h"

#include <QCryptographicHash>

namespace clitest {

inline QString makeModel(const QString& folder, int rows) {
    QDir().mkpath(folder);
    put(folder + s("/config.json"), R"({"model_type": "llama"})");
    return put(folder + s("/model.safetensors"),
               safetensors({{"a.up_proj.weight", "F32", "[" + QByteArray::number(rows) + ",64]", ramp(rows * 64)},
                            {"a.down_proj.weight", "F32", "[32,64]", ramp(32 * 64)},
                            {"a.norm.weight", "F32", "[64]", ramp(64)}}));
}

/// True if all files named in the certificate exist with the right hash.
inline bool isWhole(const QString& folder) {
    const auto certificate = QJsonDocument::fromJson(bytesOf(folder + s("/certificate.json"))).object();
    const auto files = certificate[s("files")].toArray();
    if (files.isEmpty() || certificate[s("result")].toString() != s("proved")) return false;
    for (const auto& file : files) {
        const auto bytes = bytesOf(folder + u'/' + file[s("name")].toString());
        const auto hash = QCryptographicHash::hash(bytes, QCryptographicHash::Sha256).toHex();
        if (QString::fromLatin1(hash) != file[s("sha256")].toString()) return false;
    }
    return true;
}

} // namespace clitest
