// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Checkpoints built in code, written and opened.

#include "core/model/safetensors/safetensors.h"

#include <QTemporaryDir>
#include <QtTest>

#include <cstring>

namespace qs::test {

template<class T>
TensorToWrite made(std::string name, DType dtype, std::vector<std::int64_t> shape, std::vector<T> values) {
    return {std::move(name), dtype, std::move(shape), [values = std::move(values)](const TensorToWrite::Sink& sink) {
                return sink(std::as_bytes(std::span(values)));
            }};
}

inline std::shared_ptr<const Model> opened(const QTemporaryDir& folder, std::vector<TensorToWrite> tensors,
                                           const char* name = "in.safetensors") {
    const std::string path = folder.filePath(QString::fromLatin1(name)).toStdString();
    if (auto written = writeSafetensors(path, std::move(tensors), {}, nullptr, Job{}); !written)
        qFatal("%s", written.error().message.c_str());
    auto model = openModel(path);
    if (!model) qFatal("%s", model.error().message.c_str());
    return *model;
}

template<class T> std::vector<T> valuesOf(const Model& model, const std::string& name) {
    const TensorInfo* tensor = model.find(name);
    if (!tensor) qFatal("no tensor %s", name.c_str());
    const auto view = model.view(*tensor);
    if (!view) qFatal("%s", view.error().message.c_str());
    std::vector<T> values(tensor->bytes / sizeof(T));
    view->readInto(0, std::as_writable_bytes(std::span(values)));
    return values;
}

} // namespace qs::test
