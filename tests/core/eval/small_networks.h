// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The small networks of tests/data/eval, and copies of them whose config.json is changed.

#include "core/eval/run/contest.h"
#include "tests/support/files.h"

#include <QFile>
#include <QTemporaryDir>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace qs::test {

inline const QString kNetworks = QStringLiteral("tests/data/eval/");

inline nlohmann::json configOf(const QString& name) {
    return nlohmann::json::parse(bytesOf(kNetworks + name + QStringLiteral("/config.json")).toStdString());
}

/// Logits of the stored weights after every token: [tokens, vocabulary].
inline Result<std::vector<float>> logitsOf(std::shared_ptr<const Model> model, std::span<const std::int32_t> tokens,
                                           std::size_t context, const Job& job) {
    eval::EvaluationPlan plan;
    plan.context = context, plan.scored = eval::Scored::All;
    auto contest = eval::Contest::of(std::move(model), plan);
    if (!contest) return tl::unexpected(contest.error());
    if (auto checked = eval::checkTokens(tokens, context, contest->net()); !checked)
        return tl::unexpected(checked.error());
    contest->planFor((tokens.size() + context - 1) / context);
    if (auto done = contest->pass(tokens, {}, job); !done) return tl::unexpected(done.error());
    eval::Runner& runner = contest->runners().front();
    std::vector<float> out, rows;
    for (std::size_t first = 0; first < tokens.size(); first += eval::kLogitRows) {
        const std::size_t count = std::min(eval::kLogitRows, tokens.size() - first);
        if (!(*runner.head)(*runner.states, first, count, rows, job)) return cancelledError();
        out.insert(out.end(), rows.begin(),
                   rows.begin() + std::ptrdiff_t(count * std::size_t(contest->net().vocabulary)));
    }
    return out;
}

/// A copy of a network's folder whose config.json is changed.
class Changed {
public:
    Changed(const QString& name, const nlohmann::json& config) {
        QFile::copy(kNetworks + name + QStringLiteral("/model.safetensors"),
                    dir_.filePath(QStringLiteral("model.safetensors")));
        QFile file(dir_.filePath(QStringLiteral("config.json")));
        if (!file.open(QIODevice::WriteOnly)) qFatal("no file");
        file.write(QByteArray::fromStdString(config.dump()));
    }
    /// As its configuration describes it.
    eval::Network network() const {
        const auto model = openModel(dir_.path().toStdString());
        if (!model) qFatal("%s", model.error().message.c_str());
        eval::EvaluationPlan plan;
        plan.context = 3, plan.scored = eval::Scored::All;
        const auto contest = eval::Contest::of(*model, plan);
        if (!contest) qFatal("%s", contest.error().message.c_str());
        return contest->net();
    }
    QString refusal() const {
        const auto model = openModel(dir_.path().toStdString());
        if (!model) return QString::fromStdString(model.error().message);
        const std::vector<std::int32_t> tokens = {3, 4, 5};
        const auto logits = logitsOf(*model, tokens, 3, Job());
        return logits ? QString() : QString::fromStdString(logits.error().message);
    }

private:
    QTemporaryDir dir_;
};

} // namespace qs::test
