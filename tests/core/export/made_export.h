// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Inputs of exports in tests.
#include "core/export/export_model.h"
#include "tests/core/quant/made_model.h"

#include <QDir>
#include <cmath>

namespace qs::test {

inline std::vector<float> wavy(std::size_t n) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = std::sin(float(i) * 0.37f) * (1.0f + float(i % 53) * 0.01f);
    return values;
}

inline std::shared_ptr<const Model> sample(const QTemporaryDir& folder) {
    return opened(folder,
                  {made("a.weight", DType::F32, {64, 320}, wavy(64 * 320)),
                   made("b.weight", DType::F32, {16, 77}, wavy(16 * 77)), made("b.bias", DType::F32, {16}, wavy(16))});
}

inline QuantizeRequest request(const char* spec, const char* layout, const QString& output) {
    QuantizeRequest r{*parseSpec(spec), "weight$", layout, output.toStdString()};
    return r;
}

inline QStringList entries(const QTemporaryDir& folder) {
    return QDir(folder.path()).entryList(QDir::Files | QDir::Dirs | QDir::NoDotAndDotDot | QDir::Hidden);
}

} // namespace qs::test
