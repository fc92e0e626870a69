// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Checkpoints for tests of comparisons, and the result as lines of text.

#include "core/analysis/diff/diff.h"
#include "tests/core/quant/made_model.h"

#include <algorithm>
#include <random>

namespace qs::test {

using Values = std::vector<float>;

inline Values transposed(const Values& x, std::size_t rows, std::size_t columns) {
    Values out(x.size());
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) out[c * rows + r] = x[r * columns + c];
    return out;
}
inline Values joined(std::initializer_list<Values> all) {
    Values out;
    for (const Values& each : all) out.insert(out.end(), each.begin(), each.end());
    return out;
}
/// The same permutation as LlamaModel.permute in llama.cpp's converter.
inline Values permuted(const Values& x, std::size_t columns, std::size_t head) {
    Values out(x.size());
    for (std::size_t row = 0; row < x.size() / columns; ++row) {
        const std::size_t in = row % head, to = row - in + in % (head / 2) * 2 + in / (head / 2);
        std::copy_n(x.begin() + std::ptrdiff_t(row * columns), columns, out.begin() + std::ptrdiff_t(to * columns));
    }
    return out;
}

inline DiffResult diffed(const std::shared_ptr<const Model>& a, const std::shared_ptr<const Model>& b) {
    auto result = diffModels({a, b}, Job{});
    if (!result) qFatal("%s", result.error().message.c_str());
    return *result;
}
/// For example "q|blk.0.attn_q.weight|equal|canonical name|transposed".
inline QStringList lines(const DiffResult& result) {
    QStringList out;
    for (const DiffRow& row : result.rows)
        out << QStringLiteral("%1|%2|%3|%4|%5")
                   .arg(QString::fromStdString(row.a ? row.a->name : ""),
                        QString::fromStdString(row.b ? row.b->name : ""), QString::fromLatin1(diffStatusId(row.status)),
                        QString::fromStdString(row.aligned), QString::fromStdString(placementText(row.placement)));
    return out;
}

} // namespace qs::test
