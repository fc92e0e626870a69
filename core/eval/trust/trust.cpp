// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/trust/trust.h"

#include <fmt/format.h>

namespace qs::eval {
namespace {

constexpr std::size_t kNamed = 5; ///< misjudged items that a row names

template<class Of> Column<TrustRow> trustText(const char* id, const char* title, const char* tip, Of of) {
    Column<TrustRow> column;
    column.id = id, column.title = title, column.tip = tip;
    column.value = [of](const TrustRow& row) -> Value { return of(row); };
    return column;
}

Column<TrustRow> tauColumn(const char* id, const char* title, const char* tip, double RankAgreement::*part) {
    Column<TrustRow> column;
    column.id = id, column.title = title, column.tip = tip, column.show = Show::Fixed, column.decimals = 2;
    column.value = [part](const TrustRow& row) -> Value {
        return row.agreement ? Value((*row.agreement).*part) : Value(std::monostate{});
    };
    return column;
}

} // namespace

std::vector<TrustRow> trustRows(const TrustTable& table) {
    std::vector<TrustRow> rows;
    for (std::size_t p = 0; p < table.proxies.size(); ++p)
        for (std::size_t m = 0; m < table.measured.size(); ++m) {
            const auto &proxy = table.proxies[p], &measured = table.measured[m];
            TrustRow row{table.of, p, m, proxy.title, measured.title, rankAgreement(proxy.values, measured.values),
                         {},       {}};
            if (row.agreement) row.misjudged = misjudged(proxy.values, measured.values, kNamed);
            for (const Misjudged& one : row.misjudged)
                row.misjudgedNames += fmt::format("{}{} (too {})", row.misjudgedNames.empty() ? "" : ", ",
                                                  table.items[one.item], one.tooHigh ? "high" : "low");
            rows.push_back(std::move(row));
        }
    return rows;
}

const Columns<TrustRow>& trustColumns() {
    static const Columns<TrustRow> columns = [] {
        Columns<TrustRow> out;
        out.push_back(trustText("proxy", "Proxy", "A figure of the weights.",
                                [](const TrustRow& row) { return row.proxyTitle; }));
        out.push_back(trustText("measured", "Measured", "A figure of the model's output.",
                                [](const TrustRow& row) { return row.measuredTitle; }));
        out.push_back(trustText("of", "Over", "What is ranked.", [](const TrustRow& row) { return row.of; }));
        auto tau = tauColumn("tau", "Kendall's tau", "tau-b of both orders: 1 is the same, 0 none, -1 the reverse.",
                             &RankAgreement::tau);
        tau.better = Direction::HigherIsBetter;
        out.push_back(std::move(tau));
        out.push_back(tauColumn("tau_low", "from", "Lower end of its 95 % interval, over samples of what is ranked.",
                                &RankAgreement::low));
        out.push_back(tauColumn("tau_high", "to", "Upper end of that interval.", &RankAgreement::high));
        Column<TrustRow> items;
        items.id = "items", items.title = "Items", items.show = Show::Integer, items.decimals = 0;
        items.tip = "How many have both figures.";
        items.value = [](const TrustRow& row) -> Value {
            return row.agreement ? Value(std::int64_t(row.agreement->items)) : Value(std::monostate{});
        };
        out.push_back(std::move(items));
        auto wrong =
            trustText("misjudged", "Misjudged most", "Those whose order against the others is wrong most often.",
                      [](const TrustRow& row) { return row.misjudgedNames; });
        wrong.value = [](const TrustRow& row) -> Value {
            return row.agreement ? Value(row.misjudgedNames.empty() ? "none" : row.misjudgedNames)
                                 : Value(std::monostate{});
        };
        out.push_back(std::move(wrong));
        return out;
    }();
    return columns;
}

} // namespace qs::eval
