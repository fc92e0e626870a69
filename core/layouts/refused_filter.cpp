// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/refused_filter.h"

#include "core/base/wide_text.h"
#include "core/layouts/select.h"

#include <QRegularExpression>
#include <set>

namespace qs {
namespace {

constexpr int kLongest = 220; ///< an error sentence has 500 bytes

/// The name as a pattern; with `digits` any number stands for every number in it.
QString pattern(const std::string& name, bool digits) {
    QString escaped = QRegularExpression::escape(wideText(name)).replace(QStringLiteral("\\_"), QStringLiteral("_"));
    static const QRegularExpression number(QStringLiteral("[0-9]+"));
    return digits ? escaped.replace(number, QStringLiteral("\\d+")) : escaped;
}

QString joined(const std::vector<const TensorInfo*>& tensors, bool digits) {
    std::set<QString> patterns;
    int length = 0;
    for (const TensorInfo* tensor : tensors) {
        const QString one = pattern(tensor->name, digits);
        if (patterns.insert(one).second) length += int(one.size()) + 1;
        if (length > kLongest) return {};
    }
    QString out;
    for (const QString& one : patterns) out += (out.isEmpty() ? QString() : QStringLiteral("|")) + one;
    return out;
}

} // namespace

std::string filterWithout(const Model& model, const std::vector<const TensorInfo*>& taken,
                          const std::vector<const TensorInfo*>& refused) {
    const std::set<const TensorInfo*> bad(refused.begin(), refused.end());
    std::set<const TensorInfo*> good;
    std::vector<const TensorInfo*> wanted, unwanted;
    for (const TensorInfo* tensor : taken)
        if (!bad.contains(tensor)) good.insert(tensor), wanted.push_back(tensor);
    for (const TensorInfo& tensor : model.tensors)
        if (!good.contains(&tensor) && (tensor.isWeight() || bad.contains(&tensor))) unwanted.push_back(&tensor);
    if (wanted.empty()) return {};
    for (const bool digits : {false, true}) {
        const QString keep = joined(wanted, digits), drop = joined(unwanted, digits);
        for (const QString& candidate : {drop.isEmpty() ? QString() : QStringLiteral("^(?!(%1)$)").arg(drop),
                                         keep.isEmpty() ? QString() : QStringLiteral("^(%1)$").arg(keep)}) {
            if (candidate.isEmpty() || candidate.size() > kLongest || candidate.contains(QLatin1Char('\''))) continue;
            // Numbers that stand for all numbers may say too much: what counts is what the filter takes.
            const auto filter = TensorFilter::of(model, candidate.toStdString());
            std::size_t right = 0;
            bool wrong = !filter;
            for (const TensorInfo& tensor : model.tensors) {
                if (wrong) break;
                if (!filter->takes(tensor, false)) continue;
                good.contains(&tensor) ? void(++right) : void(wrong = true);
            }
            if (!wrong && right == good.size()) return candidate.toStdString();
        }
    }
    return {};
}

} // namespace qs
