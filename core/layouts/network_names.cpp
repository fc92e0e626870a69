// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/network_names.h"

#include "core/base/text.h"
#include "core/model/conventions/checkpoint.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

/// What the first match of a regular expression in the name of a matrix ("layers.0.fc1.weight") becomes. Rows of a model
/// type are applied one after the other.
struct NetworkRow {
    const char* networks; ///< values of model_type: "beit deit vit"
    const char* from;
    const char* to; ///< \1 and \2 stand for groups; words: the network splits the matrix; null: it is not known
};
struct NetworkModule {
    const char* networks;
    const char* module;
};
#include "core/layouts/network_names.inc" // kNetworkRows, kTiedHeads, kBasePrefixes

constexpr std::string_view kWeightEnd = ".weight";

bool isAmong(const std::string& network, const char* networks) {
    return !network.empty() && fmt::format(" {} ", networks).find(fmt::format(" {} ", network)) != std::string::npos;
}

QString filled(QString to, const QRegularExpressionMatch& match) {
    for (int group = 1; group <= 2; ++group) to.replace(QStringLiteral("\\%1").arg(group), match.captured(group));
    return to;
}

} // namespace

NetworkNames::NetworkNames(const Model& model) : network_(readCheckpointConfig(model).modelType) {
    for (const NetworkRow& row : kNetworkRows)
        if (isAmong(network_, row.networks))
            rules_.push_back({QRegularExpression(QString::fromLatin1(row.from)), row.to});
    for (const NetworkModule& row : kTiedHeads)
        if (isAmong(network_, row.networks)) tiedHeads_.emplace_back(row.module);
    for (const NetworkModule& row : kBasePrefixes)
        if (isAmong(network_, row.networks)) bases_.push_back(std::string(row.module) + ".");
    hasBase_ = std::ranges::any_of(model.tensors, [&](const TensorInfo& tensor) {
        return std::ranges::any_of(bases_, [&](const std::string& base) { return tensor.name.starts_with(base); });
    });
}

Result<std::vector<std::string>> NetworkNames::inNetwork(const std::string& module) const {
    if (rules_.empty()) return std::vector{module};
    QStringList names{QString::fromStdString(module + std::string(kWeightEnd))};
    for (const Rule& rule : rules_) {
        if (!rule.to)
            return fail(fmt::format("how transformers names the layers of a network of type {} is not known, so its "
                                    "settings cannot name {}: give all its matrices one spec and keep none, or take "
                                    "layout plain",
                                    network_, escapeForPeople(module, 80)));
        const auto match = rule.from.match(names.front());
        if (!match.hasMatch()) continue;
        const QString name = names.front();
        names.clear();
        for (const QString& word : QString::fromLatin1(rule.to).split(QLatin1Char(' ')))
            names << name.first(match.capturedStart()) + filled(word, match) + name.sliced(match.capturedEnd());
    }
    std::vector<std::string> out;
    for (const QString& name : names) {
        out.push_back(name.toStdString());
        if (out.back().ends_with(kWeightEnd)) out.back().resize(out.back().size() - kWeightEnd.size());
    }
    return out;
}

Result<std::vector<std::string>> NetworkNames::all(const std::string& module) const {
    auto names = inNetwork(module);
    if (!names) return names;
    for (std::size_t i = 0, found = names->size(); i < found; ++i)
        for (const std::string& base : bases_) {
            const std::string name = (*names)[i];
            if (name.starts_with(base))
                names->push_back(name.substr(base.size()));
            else if (!hasBase_)
                names->push_back(base + name);
        }
    names->insert(names->begin(), module);
    std::vector<std::string> once;
    for (std::string& name : *names)
        if (std::ranges::find(once, name) == once.end()) once.push_back(std::move(name));
    return once;
}

} // namespace qs
