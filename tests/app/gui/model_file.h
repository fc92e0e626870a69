// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Writes a safetensors file of F32 tensors, for tests of the window.

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtEndian>

#include <cmath>
#include <cstdint>
#include <vector>

struct ModelTensor {
    QString name;
    std::vector<int> shape;
    std::vector<float> values;
};

/// Normally distributed values by Box-Muller with a fixed generator: the same on all machines.
inline std::vector<float> normalValues(std::size_t n, double sigma, std::uint64_t seed) {
    std::vector<float> out(n);
    std::uint64_t state = seed * 2862933555777941757ULL + 3037000493ULL;
    const auto uniform = [&state] {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        return (double(state >> 11) + 0.5) / 9007199254740992.0;
    };
    for (float& value : out)
        value = float(sigma * std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()));
    return out;
}

inline bool writeModelFile(const QString& path, const std::vector<ModelTensor>& tensors) {
    QJsonObject header;
    qint64 offset = 0;
    for (const ModelTensor& tensor : tensors) {
        QJsonArray shape;
        for (const int extent : tensor.shape) shape.append(extent);
        const qint64 end = offset + qint64(tensor.values.size() * sizeof(float));
        header[tensor.name] = QJsonObject{{QStringLiteral("dtype"), QStringLiteral("F32")},
                                          {QStringLiteral("shape"), shape},
                                          {QStringLiteral("data_offsets"), QJsonArray{offset, end}}};
        offset = end;
    }
    QByteArray text = QJsonDocument(header).toJson(QJsonDocument::Compact);
    while (text.size() % 8 != 0) text += ' ';
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return false;
    const quint64 size = qToLittleEndian(quint64(text.size()));
    file.write(reinterpret_cast<const char*>(&size), 8);
    file.write(text);
    for (const ModelTensor& tensor : tensors)
        file.write(reinterpret_cast<const char*>(tensor.values.data()), qint64(tensor.values.size() * sizeof(float)));
    return file.flush();
}
