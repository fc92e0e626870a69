// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/shapes.h"

#include "core/base/cell.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>

namespace qs {
namespace {

constexpr auto kNoDirection = Direction::None;

using Asked = std::tuple<std::string, std::string, std::string, std::string, std::string, std::int64_t, CacheState>;
Asked askedOf(const BenchmarkRow& r) {
    const auto& q = r.question;
    return {q.backend, q.device, q.spec, q.op, q.act, q.m, q.cache};
}

/// The fastest variant that is neither approximate nor experimental.
const BenchmarkRow* fastest(std::span<const BenchmarkRow> rows, const Asked& asked, const ModelShape& shape) {
    const BenchmarkRow* best = nullptr;
    for (const auto& row : rows) {
        if (row.question.n != shape.n || row.question.k != shape.k || !row.timing.medianNs ||
            row.answer.variant.approx || row.answer.variant.experimental)
            continue;
        if (askedOf(row) == asked && (!best || *row.timing.medianNs < *best->timing.medianNs)) best = &row;
    }
    return best;
}

} // namespace

std::vector<const TensorInfo*> modelProducts(const Model& model) {
    const bool hasHead =
        std::ranges::any_of(model.tensors, [](const TensorInfo& one) { return one.role == TensorRole::Head; });
    std::vector<const TensorInfo*> out;
    for (const auto& tensor : model.tensors) {
        if (!tensor.isWeight() || tensor.shape.size() != 2 || tensor.elements == 0) continue;
        if (hasHead && tensor.role == TensorRole::Embedding) continue; // else it is the head too
        out.push_back(&tensor);
    }
    return out;
}

std::vector<ModelShape> modelShapes(const Model& model) {
    std::vector<ModelShape> out;
    for (const TensorInfo* one : modelProducts(model)) {
        const TensorInfo& tensor = *one;
        auto at = std::ranges::find_if(
            out, [&](const ModelShape& shape) { return shape.n == tensor.shape[0] && shape.k == tensor.shape[1]; });
        if (at == out.end()) at = out.insert(out.end(), ModelShape{tensor.shape[0], tensor.shape[1], 0, {}});
        ++at->count;
        at->tensors.push_back(tensor.name);
    }
    std::ranges::stable_sort(out, [](const ModelShape& a, const ModelShape& b) {
        return double(a.count) * double(a.n) * double(a.k) > double(b.count) * double(b.n) * double(b.k);
    });
    return out;
}

std::vector<BenchShape> benchShapes(std::span<const ModelShape> shapes, std::span<const std::int64_t> ms) {
    std::vector<BenchShape> out;
    for (const auto& shape : shapes)
        for (const auto m : ms)
            out.push_back({m, shape.n, shape.k, shape.tensors.empty() ? "" : shape.tensors.front()});
    return out;
}

std::vector<ModelPassRow> modelPasses(std::span<const ModelShape> shapes, std::span<const BenchmarkRow> rows) {
    std::vector<Asked> order;
    std::set<Asked> seen;
    for (const auto& row : rows) {
        const auto* op = findBenchOp(row.question.op);
        if (op && op->product && !row.question.device.empty() && seen.insert(askedOf(row)).second)
            order.push_back(askedOf(row));
    }
    std::vector<ModelPassRow> out;
    for (const auto& asked : order) {
        ModelPassRow pass;
        std::tie(pass.backend, pass.device, pass.spec, pass.op, pass.act, pass.m, pass.cache) = asked;
        double ns = 0, baseline = 0;
        Interval range;
        bool ratios = true, ranges = true;
        std::set<std::string> variants;
        for (const auto& shape : shapes) {
            const auto* row = fastest(rows, asked, shape);
            if (!row) {
                pass.missing += shape.count;
                if (pass.reason.empty()) pass.reason = fmt::format("no time for {}x{}", shape.n, shape.k);
                continue;
            }
            pass.products += shape.count;
            if (row->timing.busy) pass.busy += shape.count;
            ns += double(shape.count) * *row->timing.medianNs;
            ranges &= row->timing.ciNs.has_value() && !row->timing.busy;
            if (const auto& ci = row->timing.ciNs)
                range.low += double(shape.count) * ci->low, range.high += double(shape.count) * ci->high;
            ratios &= row->verdict.speedup.has_value();
            if (row->verdict.speedup) baseline += double(shape.count) * *row->timing.medianNs * *row->verdict.speedup;
            variants.insert(row->answer.variant.id);
        }
        for (const auto& variant : variants) pass.variants += (pass.variants.empty() ? "" : " ") + variant;
        if (pass.missing == 0 && pass.products > 0) {
            pass.ns = ns;
            if (ranges) pass.nsCi = range;
            pass.tokensPerSecond = double(pass.m) * 1e9 / ns;
            if (pass.busy > 0)
                pass.reason = fmt::format(
                    "{} of {} products were timed on a busy machine: their times are too long, so there is no speed-up",
                    pass.busy, pass.products);
            else if (ratios)
                pass.speedup = baseline / ns;
        }
        out.push_back(std::move(pass));
    }
    return out;
}

const Columns<ModelPassRow>& modelPassColumns() {
    using R = ModelPassRow;
    static const Columns<R> columns = [] {
        Columns<R> out;
        const auto add = [&](ColumnInfo info, auto get) { out.push_back(columnOf<R>(std::move(info), get)); };
        const auto text = [&](const char* id, const char* title, std::string R::*field, const char* tip) {
            add({id, title, "", Show::Text, 0, kNoDirection, tip}, field);
        };
        text("backend", "Backend", &R::backend, "Id of the backend");
        text("device", "Device", &R::device, "Id of the device");
        text("spec", "Spec", &R::spec, "Format of all weights");
        text("op", "Op", &R::op, "The operation");
        text("act", "Activations", &R::act, "Type of x");
        add({"m", "M", "", Show::Integer, 0, kNoDirection, "Tokens in one pass"}, &R::m);
        add({"cache", "Cache", "", Show::Text, 0, kNoDirection, "State of the cache"},
            [](const R& r) { return cacheText(r.cache); });
        add({"pass_ns", "Products", "µs", Show::Time, 4, Direction::LowerIsBetter,
             "Sum of count x median over the model's shapes: the matrix products of one pass alone"},
            &R::ns);
        add({"tokens_per_second", "Tokens/s", "", Show::Significant, 4, Direction::HigherIsBetter,
             "M / products: attention, norms and sampling come on top"},
            &R::tokensPerSecond);
        add({"speedup_vs_f32", "Speed-up", "x", Show::Fixed, 2, Direction::HigherIsBetter,
             "The same products in openblas f32 / these"},
            &R::speedup);
        add({"products", "Measured", "", Show::Integer, 0, kNoDirection, "Products with a time"}, &R::products);
        add({"missing", "Missing", "", Show::Integer, 0, Direction::LowerIsBetter, "Products without one"},
            &R::missing);
        add({"busy", "Busy", "", Show::Integer, 0, Direction::LowerIsBetter,
             "Products timed while something else ran on the machine"},
            &R::busy);
        text("variants", "Variants", &R::variants,
             "The fastest that is neither approximate nor experimental, per shape");
        text("reason", "Reason", &R::reason, "Why there is no sum, or no speed-up");
        return out;
    }();
    return columns;
}

} // namespace qs
