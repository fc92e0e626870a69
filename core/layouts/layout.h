// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of export layouts: how a quantized tensor becomes named tensors in a file, and back.

#include "core/model/safetensors/safetensors.h"
#include "core/quant/encode/quantizer.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace qs {

class MeasuredTensor;
struct OutputFields;
struct Solved;
struct TensorInLayout;
struct OutputShard;
struct Finish;
struct WrittenFiles;

/// A tensor of a model and what it becomes; a million of them share few specs.
struct TakenTensor {
    const TensorInfo* tensor = nullptr;
    std::shared_ptr<const QuantSpec> shared;
    const QuantSpec& spec() const { return *shared; }
};

struct Layout {
    const char* id;
    const char* title;
    const char* summary;
    const char* takes; ///< for the registry listing: "nf4, int8, binary, ternary and their scaled members"
    /// The reason when a tensor under a spec cannot be written this way.
    Result<void> (*accepts)(const QuantSpec& spec, std::span<const std::int64_t> shape);
    /// The tensors that hold a quantized one. The tensor passed accepts() and holds().
    Result<OutputFields> (*fields)(MeasuredTensor& tensor);
    bool columnScales = false; ///< fields() takes Solved::columnScales
    /// Why a tensor stays as it is unless it is asked for by name, when it is refused; null: none does.
    Result<void> (*holds)(const TensorInfo& tensor) = nullptr;
    /// Entries of config.json ("quantization_config") as a JSON object, or why they cannot say all this; null: none.
    Result<std::string> (*config)(const Model& model, std::span<const TakenTensor> taken) = nullptr;
    bool describes = true; ///< metadata "quantscope.NAME" says what each tensor is
    /// Why a model cannot be written this way; null: every model can.
    Result<void> (*takesModel)(const Model& model) = nullptr;
    /// What its readers do not do with such tensors, one sentence; "" or null: nothing to say.
    std::string (*warns)(std::span<const TakenTensor> taken) = nullptr;
    /// Writes files of another kind than safetensors; null: writeModel().
    Result<WrittenFiles> (*writeFiles)(const Model& model, std::vector<OutputShard> shards, const std::string& output,
                                       const Job& job, const Finish& finish) = nullptr;
    const char* fileEnding = nullptr; ///< of the one file that it writes: ".npz"; null: *.safetensors, or a folder
    /// A tensor that is not taken; null: copyOf().
    Result<TensorToWrite> (*copy)(const Model& model, const TensorInfo& tensor) = nullptr;
    /// What its readers make of a level and a scale where that is not their product, but within 2 ulp of it.
    float (*valueOf)(float level, float scale) = nullptr;
    /// What it stores in another type or size than analysis counts, a sentence without its end; "": nothing. Null: never.
    std::string (*remark)(const TensorInfo& tensor, const QuantSpec& spec) = nullptr;
};
std::span<const Layout> layouts();
const Layout* findLayout(std::string_view id);
/// The end of an output's name that makes it one file (".safetensors", and what layouts write); "" of a folder.
std::string_view fileEnding(std::string_view output);
/// The first that can hold a matrix under the spec.
const Layout& defaultLayout(const QuantSpec& spec);

/// The first whose regex (unanchored) is in a tensor's name decides; without a spec the tensor stays as it is.
struct TensorRule {
    std::string regex;
    std::optional<QuantSpec> spec;
};
/// A tensor of the source and what becomes of it.
struct WrittenTensor {
    const TensorInfo* original = nullptr;
    const QuantSpec* spec = nullptr; ///< null: copied, under its own name
    std::uint64_t bytes = 0;         ///< as the layout says before anything is written
    std::uint32_t taken = 0;         ///< of the quantized: a place in the list of taken tensors
};
/// What the proof must know of what was written.
struct WrittenModel {
    const Layout* layout = nullptr;
    std::vector<WrittenTensor> tensors = {}; ///< in the order of the source
    /// The fields of a quantized one; valid until those of another one are asked for.
    std::function<Result<TensorInLayout*>(const WrittenTensor&)> fieldsOf = {};
};
struct LeftOut;
/// Opens what was written before it has its name; may add files to a folder.
using Prove = std::function<Result<void>(const std::string& path, const WrittenModel& written,
                                         const std::vector<LeftOut>& leftOut)>;

struct QuantizeRequest {
    QuantSpec spec;
    std::string tensorRegex; ///< "" = every float tensor of rank >= 2; several are joined with |
    std::string layout;      ///< "" = what writes files that end as the output does, else eformer
    std::string output;      ///< *.safetensors: one file; else a Hugging Face directory
    /// Asked for every taken tensor; null: nothing is decided before.
    std::function<Result<std::shared_ptr<const Solved>>(const TensorView&)> solve = {};
    bool columnScales = false;          ///< what is decided may hold column scales
    std::vector<TensorRule> rules = {}; ///< before `spec`
    bool keepsRest = false;             ///< what no rule matches stays as it is
    bool skipRefused = false;           ///< tensors that are refused stay as they are; all refused: an error
    Prove prove = {};                   ///< an error of it is that of the writing, of which nothing stays
    /// Of a single file: see Naming. Null: the certificate of what had its name goes.
    std::function<Result<void>()> before = {}, after = {};
};
/// A file of the source's folder that is not copied.
struct LeftOut {
    std::string name; ///< relative to the folder
    std::string why;  ///< the end of a sentence: "it is a symlink out of the model's folder"
};
/// A refused tensor that was copied instead.
struct SkippedTensor {
    std::string name, reason;
};
struct WrittenFiles {
    std::vector<std::string> paths;
    std::uint64_t bytes = 0;
    std::uint64_t quantizedTensors = 0, copiedTensors = 0;
    std::uint64_t keptByLayout = 0;          ///< of the copied: see Layout::holds
    std::string whyKept = {};                ///< of the first
    std::vector<SkippedTensor> skipped = {}; ///< of the copied: see QuantizeRequest::skipRefused
    std::vector<std::string> warnings = {};  ///< of the layout, and about tensors that were quantized; sentences
    std::vector<std::string> remarks = {};   ///< see writingRemarks(); a sentence each
    std::vector<LeftOut> leftOut = {};
};
/// The `quantize` command: refuses the whole request if one taken tensor is refused.
Result<WrittenFiles> quantizeModel(const Model& model, const QuantizeRequest& request, const Job& job);

/// What people must know before they choose: what a layout stores otherwise than analysis counts, and which tensors take
/// more bytes than in the source. A sentence each. Of `tensors`, the quantized ones count.
std::vector<std::string> writingRemarks(const Layout& layout, std::span<const WrittenTensor> tensors);

/// The `dequantize` command: obeys the `quantscope.NAME` metadata (crops padding, restores dtype).
Result<WrittenFiles> dequantizeModel(const Model& model, std::optional<Decode> decode, const std::string& output,
                                     const Job& job);

/// Tensors that a filter takes; an invalid regex is an error that names the place.
Result<std::vector<const TensorInfo*>> selectTensors(const Model& model, const std::string& regex);
/// Of those, the ones that are written in another way, each with its spec. `kept` counts what the layout leaves alone.
Result<std::vector<TakenTensor>> takenTensors(const Model& model, const QuantizeRequest& request, const Layout& layout,
                                              WrittenFiles& kept);

} // namespace qs
