// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The questions before a writing: what layout, which tensors, under what spec, and what can be written that way. The
// writing and its plan ask the same ones.

#include "core/layouts/layout.h"

#include <unordered_map>

namespace qs {

/// The layout of a request whose specs are sound: the one that it names, else what writes files that end as its output
/// does, else eformer. Fails too where the output's name promises a file that the layout does not write.
Result<const Layout*> requestedLayout(const QuantizeRequest& request);
/// A sentence where the name promises a file of a kind that is not written as safetensors: "x.onnx", "x.npz".
Result<void> namesSafetensors(std::string_view output);
/// Why the layout cannot write the model, whatever is taken of it.
Result<void> checkModel(const Model& model, const Layout& layout);

/// Why the layout cannot write so many tensors into its file.
Result<void> checkCount(const Model& model, const Layout& layout, std::size_t tensors);

/// A tensor that a request gives a spec.
struct AskedTensor {
    const TensorInfo* tensor = nullptr;
    const QuantSpec* spec = nullptr; ///< in the request
    bool named = false;              ///< by the filter or a rule: then a layout refuses what it would leave alone
};
/// What a request asks of each tensor of a model. A rule chooses among the tensors as a filter does (select.h).
class Ask {
public:
    /// Valid while the model and the request are. Errors: a filter or a rule that is no regular expression.
    static Result<Ask> of(const Model& model, const QuantizeRequest& request);
    /// None: the tensor stays as it is.
    std::optional<AskedTensor> operator()(const TensorInfo& tensor) const;
    /// Why a matrix that no spec is for stays; "" if the request itself leaves it out.
    std::string whyLeft(const TensorInfo& tensor) const;

private:
    struct Rule {
        std::size_t place; ///< in the request
        TensorFilter filter;
    };
    const QuantizeRequest* request_ = nullptr;
    Selection selection_;
    std::unordered_map<std::string, std::size_t> byName_; ///< rules for one name: the first of each
    std::vector<Rule> others_;
};
/// All tensors that it gives a spec, in the order of the model.
Result<std::vector<AskedTensor>> askedTensors(const Model& model, const QuantizeRequest& request);
/// The specs that a request gives the matrices of a model.
struct AskedSpecs {
    std::function<const QuantSpec*(const TensorInfo& tensor)> of; ///< by its name; null: it stays as it is
    std::vector<QuantSpec> all;                                   ///< each once
};
/// Without those of matrices that the layout (null: none) leaves alone. Errors: those of Ask::of().
Result<AskedSpecs> askedSpecs(const Model& model, const QuantizeRequest& request, const Layout* layout);
/// Why the layout leaves it as it is. A tensor with several experts, and the matrix of a Conv1D, are not left: they are the
/// most of their networks, so a layout that cannot hold them refuses them. `model`: of the tensor; null: any network.
Result<void> leftAlone(const Model* model, const AskedTensor& asked, const Layout& layout);
/// Whose own choice of matrices a spec follows where no layout is asked for: the layout in which `quantize` stores the spec
/// then, if another program reads it and it can write the model. Null: files of our own, which keep no matrix.
const Layout* followedLayout(const Model& model, const QuantSpec& spec);
/// The same for a request with several specs.
const Layout* followedLayout(const Model& model, const QuantizeRequest& request);
/// "layout bnb keeps it as it is: ..."; "" if the layout (null: none) does not. `named`: by a filter, see AskedTensor.
std::string whyKept(const Layout* layout, const Model& model, const TensorInfo& tensor, bool named);
/// Why the layout cannot write a tensor under a spec, whatever its values are. The sentence names the tensor.
Result<void> checkWritable(const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout);
/// The same without the name, for rows that show it already; "" if it can be written.
std::string whyNotWritable(const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout);
/// Beside figures of a spec that the layout cannot hold: "layout bnb, in which quantize stores it, refuses it: ...".
std::string refusedBy(const Layout& layout, const Error& error);
/// What readers of a layout need of all that is taken.
struct Together {
    std::shared_ptr<const Model> stacked; ///< see Layout::stacked; not null: what is taken are its tensors then
    std::string config;                   ///< see Layout::config; "": none
};
/// Stacks what is taken of the model and describes it. In between `each` looks at the single tensors; it gets the model that
/// they are of. Errors: why the layout refuses them together, those of `each`.
Result<Together> takenTogether(const Model& model, std::vector<TakenTensor>& taken, const Layout& layout,
                               const std::function<Result<void>(const Model& source)>& each);
/// Why `quantize` refuses a request, whatever the values are. At most one of the two is set.
struct RefusedRequest {
    std::optional<Error> tensor; ///< the layout cannot write the first such tensor
    std::optional<Error> whole;  ///< it cannot write the model, nothing of it, or not all that is taken together
    const Error* any() const { return tensor ? &*tensor : whole ? &*whole : nullptr; }
};
RefusedRequest refusalOf(const Model& model, std::vector<TakenTensor> taken, const Layout& layout);
RefusedRequest refusalOf(const Model& model, const QuantizeRequest& request, const Layout& layout);
/// The same object as one of the last of `taken` has, where it is equal.
std::shared_ptr<const QuantSpec> sharedSpec(QuantSpec spec, std::span<const TakenTensor> taken);
/// Adds a tensor under what the spec is for it, as the layout writes it.
void addTaken(std::vector<TakenTensor>& taken, const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout);
/// Why a tensor that is one of the fields of another is not quantized by itself: "is a part of 'NAME', ...".
std::string partReason(const std::string& whole);

} // namespace qs
