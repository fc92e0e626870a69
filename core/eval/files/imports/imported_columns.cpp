// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/files/imports/imported_columns.h"

#include "core/base/cell.h"
#include "core/base/percentile.h"
#include "core/base/text.h"
#include "core/eval/files/base_logits.h"
#include "core/eval/network/network_weights.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace qs::eval {
namespace {

constexpr std::string_view kWeight = ".weight";

std::string withoutWeight(std::string name) {
    if (name.ends_with(kWeight)) name.resize(name.size() - kWeight.size());
    return name;
}

/// Names that other programs use for the tensors of a model: those of GGUF files, and modules of transformers from
/// "layers." on.
std::map<std::string, std::string> namesOf(const std::shared_ptr<const Model>& model) {
    std::map<std::string, std::string> out;
    for (const TensorInfo& tensor : model->tensors) {
        out.emplace(withoutWeight(tensor.name), tensor.name);
        if (const auto at = tensor.name.find("layers."); at != tensor.name.npos)
            out.emplace(withoutWeight(tensor.name.substr(at)), tensor.name);
    }
    auto network = readNetwork(*model);
    if (!network) return out;
    const auto weights = NetworkWeights::of(model, *network);
    if (!weights) return out;
    for (const LayerMatrix& matrix : weights->matrices()) {
        out.emplace(withoutWeight(matrix.gguf), matrix.tensor->name);
        std::string own = nameOf(network->architecture->layer, matrix.role, false);
        if (const auto at = own.find("{}"); at != own.npos) own.replace(at, 2, std::to_string(matrix.expert));
        if (!own.empty())
            out.emplace(withoutWeight(fmt::format("layers.{}.{}", matrix.layer, own)), matrix.tensor->name);
    }
    return out;
}

void setFloor(ImportedColumn& column, const std::vector<ImportedFigure>& figures, const ImportWish& wish) {
    if (column.tensors.empty()) return;
    if (!wish.floor) {
        column.floor = estimatedFloor(figures, column.column, column.spec == wish.spec ? "" : column.spec);
        if (!column.floor) column.floor = estimatedFloor(figures, column.column, column.spec);
        column.floorIs = column.floor ? FloorSource::Estimated : FloorSource::Unknown;
        return;
    }
    std::vector<double> values;
    for (const auto& [name, value] : column.tensors) values.push_back(value);
    std::ranges::sort(values);
    const double median = percentile(values, 0.5);
    column.floor = ImportedFloor{*wish.floor, median > 0 ? *wish.floor / median : 0.0};
    column.floorIs = FloorSource::Given;
}

} // namespace

std::string canonicalOfType(std::string type) {
    std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return char(std::tolower(c)); });
    if (type.empty()) return {};
    const auto spec = parseSpec(type);
    return spec ? canonicalText(*spec) : std::string();
}

std::string ImportedColumn::title() const {
    return fmt::format("{}{}{} ({})", column, spec.empty() ? "" : ", ", spec, file);
}

Result<std::vector<ImportedColumn>> importColumns(const std::shared_ptr<const Model>& model, const ImportWish& wish) {
    if (wish.floor && !(*wish.floor >= 0)) return fail("The floor of imported figures must be 0 or above.");
    if (!wish.spec.empty())
        if (const auto spec = parseSpec(wish.spec); !spec) return tl::unexpected(spec.error());
    if (looksLikeBase(wish.path))
        return fail(fmt::format("{} is a base-logits file, which holds no figures: eval takes it with --base, and the "
                                "window as the reference.",
                                shownPath(wish.path)),
                    wish.path);
    const auto figures = importFile(wish.path);
    if (!figures) return tl::unexpected(figures.error());
    const auto names = namesOf(model);
    std::vector<ImportedColumn> out;
    bool fits = false;
    for (const ImportedFigure& figure : *figures) {
        const std::string& spec = figure.spec.empty() ? wish.spec : figure.spec;
        auto at = std::ranges::find_if(
            out, [&](const ImportedColumn& one) { return one.column == figure.column && one.spec == spec; });
        if (at == out.end()) {
            at = out.insert(out.end(), ImportedColumn());
            at->file = wish.path.substr(wish.path.find_last_of('/') + 1);
            at->column = figure.column, at->spec = spec;
        }
        if (figure.tensor.empty()) {
            if (figure.value) at->whole = OutputFigure{*figure.value, figure.error};
            fits = fits || figure.value;
            continue;
        }
        const auto known = names.find(withoutWeight(figure.tensor));
        if (known == names.end())
            ++at->others;
        else if (!figure.value)
            ++at->notMeasured;
        else
            at->tensors[known->second] = *figure.value, fits = true;
    }
    if (!fits)
        return fail(fmt::format("{} holds no figure of a tensor of this model: it names {}, for instance.",
                                shownPath(wish.path), escapeForPeople(figures->front().tensor, 100)),
                    wish.path);
    for (ImportedColumn& column : out) setFloor(column, *figures, wish);
    return out;
}

void addEffects(const std::vector<ImportedColumn>& columns, OutputEffects& into) {
    static constexpr std::pair<std::string_view, std::optional<double> OutputEffect::*> kFigures[] = {
        {"kl_mean", &OutputEffect::importedKl},
        {"ppl", &OutputEffect::importedPerplexity},
        {"gptq_loss", &OutputEffect::importedLoss}};
    for (const ImportedColumn& column : columns) {
        const std::string spec = canonicalOfType(column.spec);
        if (!column.spec.empty() && spec.empty()) continue; // no spec is equal to this type
        for (const auto& [id, figure] : kFigures)
            for (const auto& [tensor, value] : column.tensors) {
                if (column.column != id) continue;
                OutputEffect effect;
                effect.*figure = value;
                into.add(tensor, spec, effect);
            }
        if (column.whole && column.column == kFigures[0].first && !spec.empty()) into.addModel(spec, *column.whole);
    }
}

const Columns<ImportedColumn>& importedColumns() {
    using R = ImportedColumn;
    constexpr auto none = Direction::None;
    static const Columns<R> columns = {
        columnOf<R>({"file", "File", "", Show::Text, 0, none, "What the figures come from"}, &R::file),
        columnOf<R>({"column", "Figure", "", Show::Text, 0, none, "Which figure"}, &R::column),
        columnOf<R>({"spec", "Spec", "", Show::Code, 0, none, "The type, as the file or the user names it"},
                    [](const R& r) { return r.spec.empty() ? Value() : Value(r.spec); }),
        columnOf<R>({"tensors", "Tensors", "", Show::Integer, 0, none, "Of this model, with a figure"},
                    [](const R& r) { return cellOf(r.tensors.size()); }),
        columnOf<R>({"not_measured", "Not measured", "", Show::Integer, 0, none,
                     "Tensors of this model that the file names without a figure"},
                    &R::notMeasured),
        columnOf<R>({"others", "Others", "", Show::Integer, 0, none, "Tensors that this model does not have"},
                    &R::others),
        columnOf<R>({"model", "Whole model", "", Show::Significant, 4, none, "The figure of the whole model"},
                    [](const R& r) { return r.whole ? finiteCellOf(r.whole->mean) : Value(); }),
        columnOf<R>({"model_se", "±", "", Show::Significant, 2, none, "Its error, as the file prints it"},
                    [](const R& r) { return r.whole && r.whole->error ? finiteCellOf(*r.whole->error) : Value(); }),
        columnOf<R>({"floor", "Floor", "", Show::Significant, 3, none,
                     "What all tensors have in common because the reference of the file was itself quantized"},
                    [](const R& r) { return r.floor ? finiteCellOf(r.floor->value) : Value(); }),
        columnOf<R>({"floor_is", "Floor is", "", Show::Text, 0, none,
                     "given; or estimated: the 5th percentile over tensors, from 20 tensors on"},
                    [](const R& r) -> Value {
                        if (r.floorIs == FloorSource::Unknown) return {};
                        return std::string(r.floorIs == FloorSource::Given ? "given" : "estimated");
                    }),
        columnOf<R>({"floor_share", "Floor/median", "", Show::Percent, 0, none,
                     "Of the median over tensors; above 50 % the figures say little of single tensors"},
                    [](const R& r) { return r.floor ? finiteCellOf(r.floor->shareOfMedian) : Value(); }),
    };
    return columns;
}

} // namespace qs::eval
