// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One layer of a committed checkpoint, to be changed and written again.

#include "core/base/text.h"
#include "core/model/derived_tensor.h"
#include "core/model/model.h"
#include "made_file.h"

struct Stored {
    QByteArray name, dtype, shape, data;
};
struct Layer {
    std::vector<Stored> fields;
    QByteArray config; ///< empty: no config.json

    Stored& field(const char* end) {
        for (auto& field : fields)
            if (field.name.endsWith(end)) return field;
        qFatal("no field %s", end);
    }
    void drop(const char* end) {
        std::erase_if(fields, [&](const Stored& field) { return field.name.endsWith(end); });
    }
    void set(const char* end, const QByteArray& dtype, const QByteArray& shape, const QByteArray& data) {
        auto& it = field(end);
        it.dtype = dtype, it.shape = shape, it.data = data;
    }
    /// Replaces a text in the JSON of a quant_state.
    void state(const QByteArray& from, const QByteArray& to) {
        auto& it = field("quant_state.bitsandbytes__nf4");
        if (!it.data.contains(from)) qFatal("%s", it.data.constData());
        it.data.replace(from, to);
        it.shape = '[' + QByteArray::number(it.data.size()) + ']';
    }
    void put32(const char* end, int at, std::uint32_t value) {
        for (int i = 0; i < 4; ++i) field(end).data[4 * at + i] = char(value >> (8 * i));
    }
};
inline Layer layerOf(const char* folder, const char* name) {
    const QString path = QStringLiteral(QS_TEST_DATA "/conventions/") + QLatin1String(folder);
    const auto model = qs::openModel(path.toStdString());
    const qs::TensorInfo* tensor = model ? (*model)->find(name) : nullptr;
    if (!tensor || !tensor->derived) qFatal("%s has no layer %s", folder, name);
    const QByteArray file = bytesOf(path + QStringLiteral("/model.safetensors"));
    Layer layer;
    for (const auto& part : tensor->derived->parts())
        layer.fields.push_back({QByteArray::fromStdString(part.name), qs::info(part.dtype).id,
                                QByteArray::fromStdString(qs::wholeShapeText(part.shape)),
                                file.mid(qsizetype(part.offset), qsizetype(part.bytes))});
    if (QFile::exists(path + QStringLiteral("/config.json")))
        layer.config = bytesOf(path + QStringLiteral("/config.json"));
    return layer;
}

inline QString write(const QString& folder, const Layer& layer) {
    QByteArray header, data;
    for (const auto& field : layer.fields) {
        const auto begin = data.size();
        data += field.data;
        header += (header.isEmpty() ? "" : ",") +
                  entry(field.name, field.dtype, field.shape,
                        '[' + QByteArray::number(begin) + ',' + QByteArray::number(data.size()) + ']');
    }
    if (!layer.config.isEmpty()) put(folder, QStringLiteral("config.json"), layer.config);
    return put(folder, QStringLiteral("model.safetensors"), madeFile("{" + header + "}", data));
}
