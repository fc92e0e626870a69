// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/model_layout.h"
#include "core/base/short_name.h"
#include "core/base/text.h"
#include "core/model/norm_name.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace qs::gui {
namespace {

// Roles in the order of the data flow. The first of these words that a role contains decides its place.
int roleRank(const std::string& role) {
    static constexpr std::pair<const char*, int> order[] = {
        {"embed", 20}, {"wte", 20},   {"wpe", 21}, {"lm_head", 30}, {"head", 30}, {"qkv", 1},    {"query", 1},
        {"q_", 1},     {"kv_", 2},    {"key", 2},  {"k_", 2},       {"value", 3}, {"v_", 3},     {"o_", 4},
        {"out", 4},    {"c_attn", 1}, {"attn", 4}, {"gate", 5},     {"up", 6},    {"fc1", 6},    {"c_fc", 6},
        {"w1", 5},     {"w3", 6},     {"down", 7}, {"fc2", 7},      {"w2", 7},    {"c_proj", 7}, {"ln_", 10},
    };
    for (const auto& [word, rank] : order)
        if (role.find(word) != std::string::npos) return rank;
    return saysNorm(role) ? 10 : 9;
}

QString forPeople(std::string_view text) { return QString::fromStdString(escapeForPeople(text, 500)); }
QString roleTitle(const std::string& role) {
    return QString::fromStdString(nameWithin(escapeForPeople(role, 500), 24));
}

constexpr std::size_t kMostOutside = 6; // rows for roles outside the layers; further ones share one row

} // namespace

RoleGrid roleGrid(const Weights& weights) {
    RoleGrid grid;
    struct Role {
        int rank;
        std::string name;
        auto operator<=>(const Role&) const = default;
    };
    std::vector<TensorPlace> places;
    std::map<Role, int> stacked, outside;
    std::map<int, int> columns; // layer -> column, only for layers that occur
    const SharedParts shared(weights.size(), [&](std::size_t i) -> std::string_view { return weights[i]->name; });
    for (const auto* tensor : weights) {
        places.push_back(placeOf(tensor->name));
        const auto& place = places.back();
        const Role role{roleRank(place.role), place.role};
        ++(place.layer >= 0 ? stacked : outside)[role];
        if (place.layer >= 0) columns.emplace(place.layer, 0);
        grid.shown.push_back(forPeople(tensor->name));
        grid.brief.push_back(forPeople(shared.brief(tensor->name)));
    }
    const int count = int(weights.size());
    grid.rowOf.resize(weights.size());
    grid.columnOf.resize(weights.size());
    // Names that do not fit a layer x role map: no layers, or nearly one role for each tensor.
    if (columns.empty() || (stacked.size() + outside.size()) * (columns.size() + 1) > 20 * weights.size() + 1000) {
        grid.columns = std::max(1, int(std::ceil(std::sqrt(2.0 * count))));
        grid.rows = (count + grid.columns - 1) / grid.columns;
        for (int i = 0; i < count; ++i) {
            grid.rowOf[std::size_t(i)] = i / grid.columns;
            grid.columnOf[std::size_t(i)] = i % grid.columns;
        }
    } else {
        std::map<std::string, int> rows;
        for (const auto& [role, n] : stacked) rows.emplace(role.name, int(rows.size()));
        for (const auto& [role, n] : stacked) grid.roles << roleTitle(role.name);
        std::size_t own = 0;
        for (const auto& [role, n] : outside) {
            if (rows.contains(role.name)) continue;
            if (outside.size() > kMostOutside && ++own >= kMostOutside) {
                rows[role.name] = int(grid.roles.size());
                continue;
            }
            rows[role.name] = int(grid.roles.size());
            grid.roles << roleTitle(role.name);
        }
        if (own >= kMostOutside) grid.roles << QStringLiteral("others");
        grid.rows = int(grid.roles.size());
        for (auto& [layer, column] : columns) {
            column = int(grid.layers.size());
            grid.layers << QString::number(layer);
        }
        if (!outside.empty()) grid.layers << QStringLiteral("other");
        grid.columns = int(grid.layers.size());
        for (std::size_t i = 0; i < weights.size(); ++i) {
            grid.rowOf[i] = rows[places[i].role];
            grid.columnOf[i] = places[i].layer >= 0 ? columns[places[i].layer] : grid.columns - 1;
        }
    }
    grid.cells.resize(std::size_t(grid.rows) * std::size_t(grid.columns));
    for (int i = 0; i < count; ++i)
        grid.cells[std::size_t(grid.rowOf[std::size_t(i)] * grid.columns + grid.columnOf[std::size_t(i)])].push_back(i);
    return grid;
}

} // namespace qs::gui
