// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of export layouts: how a quantized tensor becomes named tensors in a file, and back.

#include "core/model/safetensors.h"
#include "core/quant/quantizer.h"

#include <functional>

namespace qs {

struct Source;
struct Solved;

struct Layout {
    const char* id;
    const char* title;
    const char* summary;
    const char* takes; ///< for the registry listing: "nf4, int8, binary, ternary and their scaled members"
    /// The reason when a tensor under a spec cannot be written this way.
    Result<void> (*accepts)(const QuantSpec& spec, std::span<const std::int64_t> shape);
    /// Names, dtypes and shapes that will be written, with their producers. `view` must outlive the writing.
    Result<std::vector<TensorToWrite>> (*write)(const TensorView& view, const QuantSpec& spec, const Job& job);
    /// The same for what was decided before; null where the layout does not take that.
    Result<std::vector<TensorToWrite>> (*writeFrom)(const std::shared_ptr<Source>& source) = nullptr;
    bool columnScales = false; ///< writeFrom takes Solved::columnScales
};
std::span<const Layout> layouts();
const Layout* findLayout(std::string_view id);
/// The first that can hold a matrix under the spec.
const Layout& defaultLayout(const QuantSpec& spec);

struct QuantizeRequest {
    QuantSpec spec;
    std::string tensorRegex; ///< "" = every float tensor of rank >= 2; several are joined with |
    std::string layout;      ///< "" = default of `quantize`: eformer
    /// Asked for every taken tensor; null: nothing is decided before.
    std::string output; ///< *.safetensors: one file; else a Hugging Face directory
    /// Asked for every taken tensor; null: nothing is decided before.
    std::function<Result<std::shared_ptr<const Solved>>(const TensorView&)> solve = {};
    bool columnScales = false; ///< what is decided may hold column scales
};
struct WrittenFiles {
    std::vector<std::string> paths;
    std::uint64_t bytes = 0;
    std::uint64_t quantizedTensors = 0, copiedTensors = 0;
};
/// The `quantize` command: refuses the whole request if one taken tensor is refused.
Result<WrittenFiles> quantizeModel(const Model& model, const QuantizeRequest& request, const Job& job);

/// The `dequantize` command: obeys the `quantscope.NAME` metadata (crops padding, restores dtype).
Result<WrittenFiles> dequantizeModel(const Model& model, std::optional<Decode> decode, const std::string& output,
                                     const Job& job);

/// Tensors that a filter takes; an invalid regex is an error that names the place.
Result<std::vector<const TensorInfo*>> selectTensors(const Model& model, const std::string& regex);

} // namespace qs
