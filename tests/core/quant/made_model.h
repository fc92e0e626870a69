// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Checkpoints built in code, written and opened.

#include "core/model/safetensors/safetensors.h"

#include <QTemporaryDir>
#include <QtTest>

#include <cstring>
#include <random>

namespace qs::test {

template<class T>
TensorToWrite made(std::string name, DType dtype, std::vector<std::int64_t> shape, std::vector<T> values) {
    return {std::move(name), dtype, std::move(shape), [values = std::move(values)](const TensorToWrite::Sink& sink) {
                return sink(std::as_bytes(std::span(values)));
            }};
}

inline TensorToWrite f32(std::string name, std::vector<std::int64_t> shape, std::vector<float> values) {
    return made(std::move(name), DType::F32, std::move(shape), std::move(values));
}

/// Normally distributed, with a standard deviation of 0.02.
inline std::vector<float> normal(std::size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> value(0, 0.02f);
    std::vector<float> out(n);
    for (float& v : out) v = value(random);
    return out;
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
