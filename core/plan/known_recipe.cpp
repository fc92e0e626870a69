// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/known_recipe.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace qs::plan {
namespace {

/// None: not known.
std::optional<eval::Estimate> lossOf(const Losses& losses, const TensorInfo& tensor, const QuantSpec& spec) {
    const auto at = losses.find(spec);
    return at ? losses.of(tensor, *at) : std::nullopt;
}

BesideRow besideRow(const Mixture& mixture, const Options& options) {
    BesideRow row{mixture.name, mixture.bytes, mixture.bpw(options), {}};
    if (mixture.unmeasured == 0) row.loss = mixture.loss;
    return row;
}

} // namespace

Result<KnownRecipe> knownRecipe(std::string name, const SpecOf& specs, const StoredSizes& sizes, const Losses& losses) {
    KnownRecipe out;
    Mixture& mixture = out.mixture;
    mixture.name = std::move(name), mixture.bytes = sizes.bytes;
    auto kept = std::make_shared<std::set<std::string>>();
    for (const TensorInfo& tensor : sizes.model->tensors) {
        const QuantSpec* spec = isMatrix(tensor) ? specs(tensor) : nullptr;
        if (!spec) continue;
        const auto known = sizes.find(*spec);
        if (!known) return fail(fmt::format("The bytes of {} are not known.", specText(*spec)));
        const StoredSize size = sizes.of(*known, tensor);
        if (size.stays) {
            kept->insert(tensor.name);
            continue;
        }
        if (!size.reason.empty())
            return fail(fmt::format("{}: the layout {} does not take {} for {}: {}", escapeForPeople(mixture.name, 200),
                                    sizes.layout->id, specText(*spec), quotedName(tensor.name), size.reason));
        mixture.bytes = mixture.bytes - sizes.kept(tensor) + size.bytes;
        if (const auto loss = lossOf(losses, tensor, *spec))
            mixture.loss += loss->mean, mixture.error += loss->byChunk.value_or(0);
        else
            ++mixture.unmeasured;
    }
    out.specs = [specs, kept](const TensorInfo& tensor) {
        return kept->contains(tensor.name) ? nullptr : specs(tensor);
    };
    return out;
}

std::vector<BesideRow> besideRows(const Mixture& plan, std::span<const KnownRecipe> recipes, const Options& options) {
    std::vector<BesideRow> rows{besideRow(plan, options)};
    for (const KnownRecipe& recipe : recipes) rows.push_back(besideRow(recipe.mixture, options));
    return rows;
}

const Columns<BesideRow>& besideColumns() {
    using Row = BesideRow;
    static const Columns<Row> columns{
        {{"name", "Recipe", "", Show::Text, 0, Direction::None, "The plan, or a recipe beside it."},
         [](const Row& r) -> Value { return r.name; }},
        {{"bytes", "Size", "", Show::Bytes, 0, Direction::LowerIsBetter, "Bytes of the whole file."},
         [](const Row& r) -> Value { return std::int64_t(r.bytes); }},
        {{"bpw", "bpw", "", Show::Fixed, 4, Direction::LowerIsBetter, "8 * bytes / elements, of the whole file."},
         [](const Row& r) -> Value { return r.bpw; }},
        {{"loss", "Predicted loss", "", Show::Scientific, 3, Direction::LowerIsBetter,
          "The sum that the plan makes least. None: the loss of a tensor under its spec is not known."},
         [](const Row& r) -> Value { return r.loss ? Value(*r.loss) : Value(); }}};
    return columns;
}

std::vector<UnitChoice> unitChoices(std::span<const TensorInfo* const> tensors, std::span<const QuantSpec> specs,
                                    const StoredSizes& sizes, const Losses& losses) {
    UnitChoice keep{{}, 0, 0.0, {}};
    for (const TensorInfo* tensor : tensors) *keep.bytes += sizes.kept(*tensor);
    std::vector<UnitChoice> out{keep};
    for (const QuantSpec& spec : specs) {
        UnitChoice one{spec, 0, 0.0, {}};
        const auto known = sizes.find(spec);
        if (!known) one.bytes.reset();
        for (const TensorInfo* tensor : tensors) {
            if (one.bytes) {
                const StoredSize size = sizes.of(*known, *tensor);
                *one.bytes += size.bytes;
                if (!size.reason.empty()) one.reason = size.reason, one.bytes.reset();
            }
            const auto loss = lossOf(losses, *tensor, spec);
            if (one.loss && loss)
                *one.loss += loss->mean;
            else
                one.loss.reset();
        }
        out.push_back(std::move(one));
    }
    return out;
}

} // namespace qs::plan
