// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Files of other programs, and the values that their own readers give.

#include "core/model/mapped_file.h"
#include "core/model/model.h"
#include "made_file.h"

#include <QCryptographicHash>
#include <zstd.h>

#include <map>

/// Decompresses a file of tests/data.
inline QByteArray inflated(const QString& path) {
    const QByteArray stored = bytesOf(path);
    QByteArray bytes(int(ZSTD_getFrameContentSize(stored.constData(), std::size_t(stored.size()))), '\0');
    const auto n =
        ZSTD_decompress(bytes.data(), std::size_t(bytes.size()), stored.constData(), std::size_t(stored.size()));
    if (ZSTD_isError(n) || n != std::size_t(bytes.size())) qFatal("cannot inflate %s", qPrintable(path));
    return bytes;
}

inline std::shared_ptr<const qs::Model> opened(const QString& path) {
    const auto model = qs::openModel(path.toStdString());
    if (!model) qFatal("%s", model.error().message.c_str());
    return *model;
}

inline QByteArray valuesOf(const qs::Model& model, const qs::TensorInfo& tensor) {
    const auto view = model.view(tensor);
    if (!view) qFatal("%s", view.error().message.c_str());
    QByteArray bytes(int(tensor.bytes), 'x');
    view->readInto(0, std::as_writable_bytes(std::span(bytes.data(), std::size_t(bytes.size()))));
    return bytes;
}

/// `sums`: lines of sha256, NumPy dtype, shape, name. The model must have exactly these tensors.
inline void compareWithSums(const qs::Model& model, const QString& sums) {
    static const std::map<QByteArray, QByteArray> types = {
        {"float32", "F32"},   {"float64", "F64"}, {"float16", "F16"}, {"bfloat16", "BF16"}, {"bool", "BOOL"},
        {"complex64", "C64"}, {"int8", "I8"},     {"int16", "I16"},   {"int32", "I32"},     {"int64", "I64"},
        {"uint8", "U8"},      {"uint16", "U16"},  {"uint32", "U32"},  {"uint64", "U64"}};
    const auto lines = bytesOf(sums).trimmed().split('\n');
    for (const auto& line : lines) {
        const auto words = line.split(' ');
        const QByteArray name = line.mid(words[0].size() + words[1].size() + words[2].size() + 3);
        const auto* tensor = model.find(name.toStdString());
        QVERIFY2(tensor, name);
        QCOMPARE(QByteArray(qs::info(tensor->dtype).id), types.at(words[1]));
        QByteArrayList shape;
        for (const auto dim : tensor->shape) shape += QByteArray::number(qlonglong(dim));
        QCOMPARE(shape.isEmpty() ? QByteArray("-") : shape.join(','), words[2]);
        const auto sum = QCryptographicHash::hash(valuesOf(model, *tensor), QCryptographicHash::Sha256).toHex();
        QVERIFY2(sum == words[0], name);
    }
    QCOMPARE(model.tensors.size(), std::size_t(lines.size()));
}
