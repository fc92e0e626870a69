// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Other values for some weights of a network, to see what they do to its output: quantized and decoded, with noise added,
// or those of another model.

#include "core/base/job.h"
#include "core/eval/network/changed_size.h"
#include "core/layouts/select.h"
#include "core/model/model.h"
#include "core/quant/spec/spec.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace qs {
struct Layout;
struct QuantizeRequest;
} // namespace qs

namespace qs::eval {

class LinearServer;
struct LayerWeights;
struct Network;

struct WeightChange {
    std::string name;        ///< for people: the spec, the recipe or the file
    std::string detail;      ///< all settings, for provenance
    std::string remark = {}; ///< what people must know beside the figures; "": nothing
    /// Whether the values of a weight change at all; null: none. The others are used as they are stored.
    std::function<bool(const TensorInfo& tensor)> touches;
    /// The new values, in the stored shape. `stored`: the values as they are.
    std::function<Result<std::vector<float>>(const TensorInfo& tensor, const TensorView& stored, const Job& job)>
        values;
    /// Another network, with its own configuration and weights, in place of this one; the other fields then have no effect.
    std::shared_ptr<const Model> network = nullptr;
    /// Whether the embedding and the head may change too; false: weights of layers alone.
    bool everywhere = false;
    bool isRecipe = false;          ///< specs differ from matrix to matrix
    const Layout* layout = nullptr; ///< of the file that is written; null: any
    /// The spec under which a tensor that `touches` takes is quantized; empty: the values come otherwise.
    std::function<const QuantSpec*(const TensorInfo& tensor)> specOf = {};
    /// Whether each index of the first axis may get its new values alone, as a tensor [1, ...] of the same name. Null: never.
    std::function<bool(const TensorInfo& tensor)> byFirstAxis = {};
    /// Computes the products of the matrices of layers that change. Null: our own kernels, with what they decode to.
    std::shared_ptr<LinearServer> server = nullptr;
    /// Puts the weights of a layer in another order, under which the layer computes the same. Null: as they are.
    std::function<void(const Network& network, LayerWeights& weights)> rearranged = {};
    /// What the changed matrices take, or another network in its files; none: it was not measured.
    std::optional<ChangedSize> size = {};
};

/// The matrices that a spec is for, by filters and by a layout's own choice.
struct SpecScope {
    const Layout* layout = nullptr; ///< null: none leaves a matrix out
    const Model* model = nullptr;   ///< whose network the layout looks at
    TensorChoice choice = {};       ///< the filters
    /// Whether the spec is for a tensor; null: TensorInfo::isWeight().
    std::function<bool(const TensorInfo& tensor)> takes = {};
    bool named = false; ///< by filters: the layout refuses a matrix that it would leave out
    /// Whether a spec changes the tensor: it is for it, and the layout does not leave it out.
    bool covers(const TensorInfo& tensor) const;
    std::string refusal = {}; ///< why `quantize` refuses what the scope takes under the spec; "": it does not
    bool follows = true;      ///< without a layout: a spec covers what followedLayout() takes, see scopeOfSpec()
    bool asStored = false; ///< without a layout, values are rounded to the dtype of the source, in which a file of our
                           ///< own is read back; with one, they are those that its reader gives
};
/// What `quantize` writes of a model under the filters and the layout; "": no layout. Errors: a layout that is not
/// known or cannot write the model, those of selectAny().
Result<SpecScope> scopeOf(const Model& model, const std::vector<std::string>& filters, const std::string& layout);

/// The scope for a spec. Without a layout it covers what followedLayout() takes, and the values are those that its readers
/// give. Where `quantize` refuses that, they are those of the spec, with the refusal. Error: the scope's own layout refuses
/// the model as a whole.
Result<SpecScope> scopeOfSpec(const Model& model, SpecScope scope, const QuantSpec& spec);

/// All matrices of the scope quantized under one spec and decoded again: what `quantize` writes.
WeightChange quantizedAs(QuantSpec spec, SpecScope scope = {});
/// Every matrix quantized under the spec that `specOf` gives for it, or kept where that is null: what a recipe would export.
WeightChange quantizedBy(std::string name, std::string detail,
                         std::function<const QuantSpec*(const TensorInfo& tensor)> specOf, SpecScope scope = {});
/// What `quantize` writes of the model under a request: in the scope's layout, else as scopeOfSpec() says. Only its layout
/// and how values are rounded are taken from the scope. Errors: those of askedSpecs(), a request that takes no matrix,
/// a layout of the scope that refuses the model as a whole.
Result<WeightChange> quantizedAsAsked(const Model& model, std::string name, std::string detail,
                                      const QuantizeRequest& request, SpecScope scope);
/// What a matrix takes under a spec: in the layout, or, without one, in the default one of the spec.
Result<std::uint64_t> bytesUnder(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                 const Layout* layout, const Job& job);
/// Sets WeightChange::size where a spec is known that fits all matrices. Error: cancelled.
Result<void> measureSizes(const Model& model, std::vector<WeightChange>& changes, const Job& job);
/// What a model takes in its files. `decoded`: the same model with the values of tensors that are stored quantized.
ChangedSize storedSizeOf(const Model& stored, const Model& decoded);
/// Another network, of any family, with the same vocabulary.
WeightChange replacedBy(std::shared_ptr<const Model> network, std::string name);

} // namespace qs::eval
