// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/output_axis.h"

#include "core/base/lists.h"
#include "core/model/conventions/checkpoint.h"

#include <array>

namespace qs {
namespace {

constexpr std::array<std::string_view, 4> kConv1dTypes = {"gpt2", "openai-gpt", "imagegpt", "decision_transformer"};
constexpr std::array<std::string_view, 4> kConv1dModules = {"c_attn", "q_attn", "c_proj", "c_fc"};
/// Formats of Keras, where the variables of a layer have numbers: "layers/dense/vars/0".
constexpr std::array<std::string_view, 3> kKerasFormats = {"hdf5", "keras", "keras-shards"};
/// Formats whose writers transpose matrices but keep their names. The reader of ONNX looks at the graph instead.
constexpr std::array<std::string_view, 2> kTurningFormats = {"tflite", "onnx"};

/// Removes the part after the last dot or slash from `name` and returns it. Without a separator, it is the whole name.
std::string_view takeLast(std::string_view& name) {
    const auto at = name.find_last_of("./");
    const auto last = at == name.npos ? name : name.substr(at + 1);
    name = at == name.npos ? std::string_view() : name.substr(0, at);
    return last;
}

/// True for kernels of Keras and Flax: "dense/kernel:0", "layers.0.attn.query.kernel", "lstm/recurrent_kernel".
bool isKernelName(std::string_view name) {
    std::string_view last = takeLast(name);
    last = last.substr(0, last.find(':'));
    return last == "kernel" || last.ends_with("_kernel");
}

/// True for a numbered Keras variable that is used in a product. Embedding tables are not: their rows are looked up.
bool isKerasVariable(std::string_view name) {
    takeLast(name);
    if (takeLast(name) != "vars") return false;
    return name.find("embedding") == name.npos;
}

} // namespace

bool isConv1dName(std::string_view tensorName) {
    return takeLast(tensorName) == "weight" && contains(kConv1dModules, takeLast(tensorName));
}

bool isConv1dType(std::string_view modelType) { return contains(kConv1dTypes, modelType); }

void markOutputAxes(Model& model) {
    const bool turns = contains(kTurningFormats, model.format), numbers = contains(kKerasFormats, model.format);
    bool conv1d = false;
    for (TensorInfo& tensor : model.tensors) {
        if (tensor.shape.size() < 2 || turns) continue;
        tensor.outputLast = isKernelName(tensor.name) || (numbers && isKerasVariable(tensor.name));
        conv1d = conv1d || (tensor.shape.size() == 2 && isConv1dName(tensor.name));
    }
    if (!conv1d || !isConv1dType(readCheckpointConfig(model).modelType)) return;
    for (TensorInfo& tensor : model.tensors)
        if (tensor.shape.size() == 2 && !tensor.derived && isConv1dName(tensor.name)) tensor.outputLast = true;
}

} // namespace qs
