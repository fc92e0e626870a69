// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of export layouts: how a quantized tensor becomes named tensors in a file.

#include "core/layouts/select.h"
#include "core/model/safetensors/safetensors.h"
#include "core/quant/encode/quantizer.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace qs {

class MeasuredTensor;
struct Dialect;
struct OutputFields;
struct Solved;
struct TensorInLayout;
struct OutputShard;
struct Finish;
struct WrittenFiles;

/// A tensor that is quantized, and its spec. Tensors share specs, because a model may have a million tensors.
struct TakenTensor {
    const TensorInfo* tensor = nullptr;
    std::shared_ptr<const QuantSpec> shared;
    const QuantSpec& spec() const { return *shared; }
};

/// The names of fields by which files of ours are read back: NAME.weight or NAME.packed, or NAME.codes.
enum class OwnFields { None, Eformer, Native };

/// Matrices whose names are equal without what the regular expression matches must have one spec.
struct JoinedMatrices {
    const char* regex;
    bool mayStay = false; ///< but some of them may stay as they are
};

struct Layout {
    const char* id;
    const char* title;
    const char* summary;
    const char* takes; ///< for the registry listing: "nf4, int8, binary, ternary and their scaled members"
    /// Fails with the reason if the layout cannot write a tensor of this shape under the spec.
    Result<void> (*accepts)(const QuantSpec& spec, std::span<const std::int64_t> shape);
    /// The fields: the tensors of the file that hold a quantized one. accepts() and holds() were asked before.
    Result<OutputFields> (*fields)(MeasuredTensor& tensor);
    bool columnScales = false; ///< fields() takes Solved::columnScales
    bool turnsConv1d =
        false; ///< loaders take the matrix of a Conv1D as that of a linear layer, [out, in]; see conv1d.h
    /// Fails for tensors that loaders do not take quantized. They stay as they are; if the user names one, it is
    /// refused. Null: the layout takes all tensors.
    Result<void> (*holds)(const TensorInfo& tensor) = nullptr;
    /// Why loaders leave a matrix of this network as it is, as the end of a sentence; "": they do not. Null: never.
    std::string (*staysIn)(const Model& model, const TensorInfo& tensor) = nullptr;
    /// The model and what is taken of it as readers want it in a file, where they want several tensors in one. Its tensors
    /// read the given model. An empty pointer: as it is. Null: always as it is.
    Result<std::shared_ptr<const Model>> (*stacked)(const Model& model, std::vector<TakenTensor>& taken) = nullptr;
    /// Entries for config.json ("quantization_config") as a JSON object. Fails if they cannot describe the mixture of
    /// specs. Null: the layout has none.
    Result<std::string> (*config)(const Model& model, std::span<const TakenTensor> taken) = nullptr;
    OwnFields ownFields = OwnFields::None;
    const Dialect* dialect = nullptr; ///< specs that name it are stored in this layout unless another one is asked for
    bool describes = true;            ///< metadata "quantscope.NAME" says what each tensor is
    /// Fails with the reason if the layout cannot write the model. Null: it writes every model.
    Result<void> (*takesModel)(const Model& model) = nullptr;
    /// A sentence on what readers of the layout cannot do with such tensors; "" or null: no warning.
    std::string (*warns)(std::span<const TakenTensor> taken) = nullptr;
    /// Writes files of another kind than safetensors; null: writeModel().
    Result<WrittenFiles> (*writeFiles)(const Model& model, std::vector<OutputShard> shards, const std::string& output,
                                       const Job& job, const Finish& finish) = nullptr;
    const char* fileEnding =
        nullptr; ///< ending of the one file that it writes: ".npz"; null: *.safetensors or a folder
    /// Most tensors of that file, because reading it back for the proof takes much memory for each. 0: no limit.
    std::size_t mostTensors = 0;
    /// Writes a tensor that is not quantized; null: copyOf().
    Result<TensorToWrite> (*copy)(const Model& model, const TensorInfo& tensor) = nullptr;
    /// The value that readers compute from a level and a scale. It is within 2 ulp of their product. Null: the product.
    float (*valueOf)(float level, float scale) = nullptr;
    /// Says where the layout stores another type or size than analysis counts: a sentence without its full stop, or "".
    /// Null: never.
    std::string (*remark)(const TensorInfo& tensor, const QuantSpec& spec) = nullptr;
    /// What readers demand, for instance because they load several matrices as one.
    std::span<const JoinedMatrices> joins = {};
};
std::span<const Layout> layouts();
const Layout* findLayout(std::string_view id);
/// The file ending of an output's name: ".safetensors", or that of a layout's file. "": the output is a folder.
std::string_view fileEnding(std::string_view output);
/// The layout of the dialect that the spec names, else the first one that can hold a matrix under the spec.
const Layout& defaultLayout(const QuantSpec& spec);
/// The default layout that all these specs share, else the first one that can hold a matrix under each of them.
const Layout& defaultLayout(std::span<const QuantSpec* const> specs);

/// The first rule whose regex matches a part of the tensor's name decides. No spec: the tensor stays as it is.
struct TensorRule {
    std::string regex;
    std::optional<QuantSpec> spec;
};
/// A tensor of the source and what becomes of it.
struct WrittenTensor {
    const TensorInfo* original = nullptr;
    const QuantSpec* spec = nullptr; ///< null: it is copied under its own name
    std::uint64_t bytes = 0;         ///< size that the layout predicts before anything is written
    std::uint32_t taken = 0;         ///< for a quantized tensor: its index in the list of taken tensors
};
/// The tensors of a source, in its order. There may be a million, so each is made when it is asked for.
struct WrittenTensors {
    std::size_t count = 0;
    std::function<WrittenTensor(std::size_t)> at = {};
};
/// What the proof must know about the written files.
struct WrittenModel {
    const Layout* layout = nullptr;
    WrittenTensors tensors;
    /// The fields of a quantized tensor; valid until the fields of another one are asked for.
    std::function<Result<TensorInLayout*>(const WrittenTensor&)> fieldsOf = {};
};
struct LeftOut;
/// Checks the written files before they get their names. It may add files to a folder.
using Prove = std::function<Result<void>(const std::string& path, const WrittenModel& written,
                                         const std::vector<LeftOut>& leftOut)>;

/// A file of an exported folder.
struct FileToStage {
    std::string name;
    std::uint64_t bytes = 0; ///< of its tensors
    std::function<Result<void>(const std::string& path)> write;
};
/// Writes files to a place that several processes share, or finds what others have written there. Returns their paths,
/// in the same order; none if this process is to write nothing else.
using StageFiles = std::function<Result<std::vector<std::string>>(std::span<const FileToStage> files)>;

struct QuantizeRequest {
    QuantSpec spec;
    TensorChoice choice; ///< see select.h
    std::string layout;  ///< "" = the layout for files that end like the output, else defaultLayout()
    std::string output;  ///< *.safetensors: one file; else a Hugging Face directory
    /// Runs a solver for every taken tensor; null: no solver.
    std::function<Result<std::shared_ptr<const Solved>>(const TensorView&)> solve = {};
    bool columnScales = false;          ///< `solve` may give column scales
    std::vector<TensorRule> rules = {}; ///< before `spec`
    bool keepsRest = false;             ///< tensors that no rule matches stay as they are
    bool copyAll = false;               ///< of a folder: other weights that lie in it too
    bool allowMissing = false;          ///< see checkWhole()
    bool skipRefused = false;           ///< refused tensors stay as they are; it is an error if all are refused
    Prove prove = {};                   ///< if it fails, the export fails and no file stays
    StageFiles stage = {};              ///< of a folder of safetensors; null: this process writes all files
    /// For a single file: see Naming. Null: the certificate of the replaced file is removed.
    std::function<Result<void>()> before = {}, after = {};
};
/// A file of the source's folder that is not copied.
struct LeftOut {
    std::string name; ///< relative to the folder
    std::string why;  ///< the end of a sentence: "it is a symlink out of the model's folder"
};
/// A tensor that was copied instead of quantized.
struct SkippedTensor {
    std::string name, reason;
};
struct WrittenFiles {
    std::vector<std::string> paths;
    std::uint64_t bytes = 0;
    std::uint64_t quantizedTensors = 0, copiedTensors = 0;
    std::vector<SkippedTensor> kept = {};    ///< matrices that were copied because of their role or Layout::holds
    std::vector<SkippedTensor> skipped = {}; ///< tensors that were copied because of QuantizeRequest::skipRefused
    std::vector<std::string> warnings = {};  ///< sentences of the layout and about quantized tensors
    std::vector<std::string> remarks = {};   ///< sentences, see writingRemarks()
    std::vector<LeftOut> leftOut = {};
    bool isWhole = true; ///< false: files were only staged, and there is no output yet
};
/// The `quantize` command: refuses the whole request if one taken tensor is refused.
Result<WrittenFiles> quantizeModel(const Model& model, const QuantizeRequest& request, const Job& job);

/// Sentences for the user: where the layout stores other types than analysis counts, and which quantized tensors take
/// more bytes than in the source.
std::vector<std::string> writingRemarks(const Layout& layout, const WrittenTensors& tensors);

/// The `dequantize` command: obeys the `quantscope.NAME` metadata (crops padding, restores dtype).
Result<WrittenFiles> dequantizeModel(const Model& model, std::optional<Decode> decode, const std::string& output,
                                     const Job& job, bool copyAll = false, bool allowMissing = false);
/// Fails if a part of the model is missing or cannot be read (missingSentence()), unless that is allowed. What is
/// written of it then lacks these tensors.
Result<void> checkWhole(const Model& model, bool allowMissing);

/// The tensors to quantize, each with its spec. `kept` lists the matrices that stay because of their role or the layout.
Result<std::vector<TakenTensor>> takenTensors(const Model& model, const QuantizeRequest& request, const Layout& layout,
                                              WrittenFiles& kept);

} // namespace qs
