// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/kept_lab.h"
#include "core/session/kept_labs.h"

#include <algorithm>

namespace qs {
namespace kept {
namespace {

constexpr std::size_t kMostAxes = 64;
constexpr int kMostCounted = 1 << 20;

struct ProductsKept {
    std::string tensor, spec, activations, gradients, blocks;
    std::vector<std::string> choices;
    int rows = 0, heads = 0, tokens = 0, dim = 0;
    std::vector<value::LabRow> products;
    std::vector<value::KvRow> cache;
    std::string productsReason, cacheReason; ///< why there are none; empty: there are
};
struct OperationsKept {
    std::string tensor, spec;
    std::vector<std::string> arguments;
    std::vector<value::WhatIfRow> rows;
};

} // namespace

template<class Io> static void fields(Io& io, value::Deviation& one) {
    io("error", one.errorPower);
    io("power", one.power);
    io("max_abs", one.maxAbs);
    io("finite", one.finite);
}
template<class Io> static void fields(Io& io, value::LabRow& row) {
    io("product", row.product);
    io("formula", row.formula);
    io("lhs", row.lhs);
    io("rhs", row.rhs);
    io("lhs_error", row.lhsError);
    io("rhs_error", row.rhsError);
    io("error", row.error);
    io("reason", row.reason);
    io("kernel", row.kernel);
}
template<class Io> static void fields(Io& io, value::KvRow& row) {
    io("spec", row.spec);
    io("bytes_per_token", row.bytesPerToken);
    io("k", row.k);
    io("v", row.v);
    io("output", row.output);
    io("kl", row.kl);
    io("reason", row.reason);
}
template<class Io> static void fields(Io& io, ProductsKept& all) {
    io("tensor", all.tensor);
    io("spec", all.spec);
    io("activations", all.activations);
    io("gradients", all.gradients);
    io("blocks", all.blocks);
    io("choices", all.choices);
    io("rows", all.rows);
    io("heads", all.heads);
    io("tokens", all.tokens);
    io("dim", all.dim);
    io("products", all.products);
    io("products_reason", all.productsReason);
    io("cache", all.cache);
    io("cache_reason", all.cacheReason);
}
template<class Io> static void fields(Io& io, value::WhatIfRow& row) {
    io("operation", row.operation);
    io("detail", row.detail);
    io("shape", row.shape);
    io("devices", row.devices);
    io("bytes_before", row.bytesBefore);
    io("bytes_per_device", row.bytesPerDevice);
    io("bytes_total", row.bytesTotal);
    io("before", row.before);
    io("caused", row.caused);
    io("after", row.after);
    io("direct", row.direct);
    io("note", row.note);
    io("reason", row.reason);
}
template<class Io> static void fields(Io& io, OperationsKept& all) {
    io("tensor", all.tensor);
    io("spec", all.spec);
    io("arguments", all.arguments);
    io("rows", all.rows);
}

namespace {

bool isDeviation(const std::optional<value::Deviation>& one) {
    if (!one || !one->finite) return true; // what is not finite has no figures
    return isMeasure(one->errorPower) && isMeasure(one->power) && isMeasure(one->maxAbs) &&
           std::isfinite(one->nmse().value_or(0));
}

bool isRow(const value::LabRow& row) {
    return areWords({&row.product, &row.formula, &row.lhs, &row.rhs, &row.reason, &row.kernel}) &&
           isDeviation(row.lhsError) && isDeviation(row.rhsError) && isDeviation(row.error);
}

/// What was measured has a size.
bool isCacheRow(const value::KvRow& row) {
    return areWords({&row.spec, &row.reason}) && isMeasure(row.bytesPerToken) &&
           (row.bytesPerToken || !(row.k || row.v || row.output)) && isDeviation(row.k) && isDeviation(row.v) &&
           isDeviation(row.output) && (!row.kl || std::isfinite(*row.kl));
}

bool isOperationRow(const value::WhatIfRow& row) {
    const auto operations = value::whatIfOperations();
    const bool known =
        std::ranges::any_of(operations, [&](const auto& operation) { return row.operation == operation.id; });
    const bool shaped =
        row.shape.size() <= kMostAxes && std::ranges::all_of(row.shape, [](std::int64_t n) { return n >= 0; });
    const auto isSize = [](const std::optional<std::uint64_t>& bytes) {
        return !bytes || *bytes <= std::uint64_t(std::numeric_limits<std::int64_t>::max());
    };
    return known && shaped && areWords({&row.detail, &row.note, &row.reason}) && row.devices >= 1 &&
           isSize(row.bytesBefore) && isSize(row.bytesPerDevice) && isSize(row.bytesTotal) && isDeviation(row.before) &&
           isDeviation(row.caused) && isDeviation(row.after) && isDeviation(row.direct);
}

template<class Row> bool areRows(const std::vector<Row>& rows, bool (*isOne)(const Row&)) {
    return rows.size() <= kMostLabRows && std::ranges::all_of(rows, isOne);
}

template<class Row> Result<std::vector<Row>> measured(std::vector<Row>& rows, std::string& reason) {
    if (!reason.empty()) return fail(std::move(reason));
    return std::move(rows);
}

} // namespace
} // namespace kept

std::string keptProducts(const KeptProducts& products) {
    kept::ProductsKept all;
    all.tensor = products.tensor, all.spec = specText(products.spec);
    all.activations = products.activations, all.gradients = products.gradients, all.blocks = products.blocks;
    all.choices.assign(products.choices.begin(), products.choices.end());
    all.rows = products.rows, all.heads = products.heads, all.tokens = products.tokens, all.dim = products.dim;
    (products.products ? void(all.products = *products.products)
                       : void(all.productsReason = products.products.error().sentence()));
    (products.cache ? void(all.cache = *products.cache) : void(all.cacheReason = products.cache.error().sentence()));
    return kept::textOf(all);
}

Result<std::shared_ptr<const KeptProducts>> productsKept(const std::string& text, const Model& model) {
    constexpr const char* what = "products are";
    auto lab = kept::readLab<kept::ProductsKept>(text, model, what);
    if (!lab) return tl::unexpected(lab.error());
    auto& [all, tensor, spec] = *lab;
    for (const int count : {all.rows, all.heads, all.tokens, all.dim})
        if (count < 1 || count > kept::kMostCounted) return kept::damaged(what, "a count");
    KeptProducts products{tensor->name,
                          std::move(spec),
                          {},
                          all.rows,
                          all.heads,
                          all.tokens,
                          all.dim,
                          std::move(all.activations),
                          std::move(all.gradients),
                          std::move(all.blocks),
                          {},
                          {}};
    if (all.choices.size() != products.choices.size() ||
        !kept::areWords(
            {&products.activations, &products.gradients, &products.blocks, &all.productsReason, &all.cacheReason}))
        return kept::damaged(what, "their settings");
    for (std::size_t i = 0; i < products.choices.size(); ++i) {
        if (!kept::areWords({&all.choices[i]})) return kept::damaged(what, "their settings");
        products.choices[i] = std::move(all.choices[i]);
    }
    if (!kept::areRows(all.products, kept::isRow) || !kept::areRows(all.cache, kept::isCacheRow))
        return kept::damaged(what, "a row");
    products.products = kept::measured(all.products, all.productsReason);
    products.cache = kept::measured(all.cache, all.cacheReason);
    return std::make_shared<const KeptProducts>(std::move(products));
}

std::string keptOperations(const KeptOperations& operations) {
    return kept::textOf(
        kept::OperationsKept{operations.tensor, specText(operations.spec), operations.arguments, operations.rows});
}

Result<std::shared_ptr<const KeptOperations>> operationsKept(const std::string& text, const Model& model) {
    constexpr const char* what = "operations are";
    auto lab = kept::readLab<kept::OperationsKept>(text, model, what);
    if (!lab) return tl::unexpected(lab.error());
    auto& [all, tensor, spec] = *lab;
    const auto operations = value::whatIfOperations();
    if (all.arguments.empty() || all.arguments.size() > operations.size() ||
        !std::ranges::all_of(all.arguments, [](const std::string& argument) { return kept::areWords({&argument}); }))
        return kept::damaged(what, "their arguments");
    while (all.arguments.size() < operations.size()) // of a version that had fewer
        all.arguments.push_back(operations[all.arguments.size()].initial(tensor->shape));
    if (!kept::areRows(all.rows, kept::isOperationRow)) return kept::damaged(what, "a row");
    return std::make_shared<const KeptOperations>(
        KeptOperations{tensor->name, std::move(spec), std::move(all.arguments), std::move(all.rows)});
}

} // namespace qs
