// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The names that other programs give to the tensors of a model.

#include <string>
#include <string_view>
#include <vector>

namespace qs {

enum class NameSpace {
    Tensor,    ///< the name in the model
    Module,    ///< a module of Hugging Face: "model.layers.0.self_attn.q_proj"
    Gguf,      ///< a name in GGUF files: "blk.0.attn_q.weight"
    Flax,      ///< MaxText's "decoder/layers_0/self_attention/query", or a module with "/" in place of "."
    Quantizer, ///< a quantizer of ModelOpt: a module and ".weight_quantizer"
};
const char* nameSpaceText(NameSpace space); ///< for people: "names of GGUF files"

/// The spellings of a tensor's name in a name space; the first one is used for writing. Empty if it has none there.
std::vector<std::string> namesIn(NameSpace space, std::string_view tensor);

/// The number of the layer in a name, and the name without it: {"model.layers.", 3, ".self_attn.q_proj"}. Layer -1:
/// none.
struct LayeredName {
    std::string before;
    int layer = -1;
    std::string after;
};
LayeredName layeredName(std::string_view name);

} // namespace qs
