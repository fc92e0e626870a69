// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/tensor_role.h"

#include "core/model/conventions/checkpoint.h"
#include "core/model/model.h"
#include "core/model/norm_name.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

namespace qs {
namespace {

constexpr RoleRow kRoles[] = {
    {TensorRole::Unknown, "unknown", "matrix", true, ""},
    {TensorRole::Linear, "linear", "linear layer", true, ""},
    {TensorRole::Experts, "experts", "stacked experts", true,
     "it holds the matrices of several experts, and the loader makes quantized modules of single matrices only"},
    {TensorRole::Embedding, "embedding", "embedding", true,
     "an embedding stays in its own dtype, because loaders look for its rows"},
    {TensorRole::Head, "head", "output head", true, ""},
    {TensorRole::Router, "router", "router", false,
     "a router stays in its own dtype, because it chooses the experts and loaders take it unquantized"},
    {TensorRole::Position, "position", "position or bias table", false,
     "a table of positions or biases stays in its own dtype, because it is no linear layer"},
    {TensorRole::Convolution, "convolution", "convolution", true,
     "a kernel of a convolution stays in its own dtype, because it is no linear layer"},
    {TensorRole::State, "state", "state matrix", false,
     "a matrix of a state-space model stays in its own dtype, because it is no linear layer"},
    {TensorRole::Norm, "norm", "norm", false, "the weights of a normalization stay in their own dtype"},
    {TensorRole::Vector, "vector", "vector", false, "a tensor with one axis stays in its own dtype"},
    {TensorRole::Part, "part", "part of a quantized layer", false, "it is a part of a quantized layer"},
};

constexpr int kAnyRank = 99;
/// Names that GGUF files use, whatever their architecture is.
constexpr std::string_view kGgufNames = "gguf";

/// What more must be true for a row.
enum class RoleNeeds {
    Nothing,
    Experts,  ///< a module "experts" has the same parent, or the parent's parent
    Depthwise ///< the kernel of each channel sees this channel alone
};

/// What a name says. The first row that fits decides. Names are compared in lower case, without ".weight" or ".kernel"
/// at the end, and every number in them is 0.
struct RoleName {
    TensorRole role;
    std::string_view last;      ///< the last part, where "*" stands for any text; "": any
    std::string_view path = {}; ///< a piece of "." + name + "."; with "^" in front: its beginning
    int leastRank = 2, mostRank = kAnyRank;
    std::string_view network = {}; ///< beginning of model_type in config.json, or kGgufNames; "": any network
    RoleNeeds needs = RoleNeeds::Nothing;
};

/// Sources: modeling files of transformers 5.23; llama.cpp src/llama-arch.cpp and src/llama-quant.cpp.
std::span<const RoleName> roleNames() {
    using enum TensorRole;
    static constexpr RoleName rows[] = {
        // GGUF
        {.role = Head, .last = "output", .path = "^.output.", .network = kGgufNames},
        {.role = Router, .last = "ffn_gate_inp*", .network = kGgufNames},
        {.role = Experts, .last = "*_exps", .leastRank = 3, .network = kGgufNames},
        {.role = State, .last = "ssm_conv0d", .network = kGgufNames},
        {.role = State, .last = "ssm_a", .network = kGgufNames},
        {.role = State, .last = "ssm_d", .network = kGgufNames},
        {.role = State, .last = "conv", .path = ".shortconv.", .network = kGgufNames},
        {.role = State, .last = "time_mix_first", .network = kGgufNames},
        {.role = State, .last = "time_mix_w0", .network = kGgufNames},
        {.role = State, .last = "time_mix_v0", .network = kGgufNames},
        {.role = State, .last = "time_mix_a0", .network = kGgufNames},
        {.role = State, .last = "time_mix_g0", .network = kGgufNames},
        {.role = State, .last = "time_mix_decay*", .network = kGgufNames},
        {.role = State, .last = "*_mix_lerp*", .network = kGgufNames},
        {.role = Position, .last = "attn_rel_b", .network = kGgufNames},
        {.role = Position, .last = "*pos*_embd", .network = kGgufNames},
        {.role = Position, .last = "token_types", .network = kGgufNames},
        // Mixtures of experts
        {.role = Position, .last = "*_bias"},
        {.role = Position, .last = "bias"},
        {.role = Router, .last = "", .path = ".router."},
        {.role = Router, .last = "shared_expert_gate"},
        {.role = Router, .last = "gate", .needs = RoleNeeds::Experts},
        {.role = Router, .last = "wg", .path = ".gate.", .needs = RoleNeeds::Experts},
        {.role = Router, .last = "gate", .path = ".block_sparse_moe."},
        {.role = Router, .last = "gate", .path = ".moeblock_0."},
        {.role = Linear, .last = "", .path = ".experts.0.", .mostRank = 2},
        {.role = Linear, .last = "", .path = ".experts.expert_0.", .mostRank = 2},
        {.role = Experts, .last = "", .path = ".experts."},
        {.role = Experts, .last = "", .path = ".switch_mlp.", .leastRank = 3},
        {.role = Experts, .last = "*put_linear", .leastRank = 3},
        // State-space models, linear attention and RWKV
        {.role = State, .last = "a_log"},
        {.role = State, .last = "*conv0d", .mostRank = 3, .needs = RoleNeeds::Depthwise},
        {.role = State, .last = "conv", .path = ".conv.conv.", .mostRank = 3, .network = "lfm0"},
        {.role = State, .last = "time_decay*"},
        {.role = State, .last = "time_first"},
        {.role = State, .last = "time_faaaa"},
        {.role = State, .last = "time_maa*"},
        {.role = State, .last = "time_mix_*", .network = "rwkv"},
        // Heads
        {.role = Head, .last = "lm_head"},
        {.role = Head, .last = "0", .path = ".lm_heads."},
        {.role = Head, .last = "embed_out"},
        {.role = Head, .last = "decoder", .path = ".predictions."},
        {.role = Head, .last = "decoder", .path = ".lm_head."},
        {.role = Head, .last = "decoder", .path = "^.decoder.", .network = "modernbert"},
        {.role = Head, .last = "vocab_projector"},
        {.role = Head, .last = "lm_loss"},
        {.role = Head, .last = "logits_dense"},
        {.role = Head, .last = "proj", .path = ".pred_layer.", .network = "xlm"},
        {.role = Head, .last = "proj_out", .path = "^.proj_out.", .network = "whisper"},
        {.role = Head, .last = "head", .path = "^.head.", .network = "rwkv"},
        {.role = Head, .last = "output", .path = "^.output."},
        // Linear layers whose names speak of embeddings
        {.role = Linear, .last = "*proj", .mostRank = 2},
        {.role = Linear, .last = "*project*", .mostRank = 2},
        {.role = Linear, .last = "*mapping*", .mostRank = 2},
        {.role = Linear, .last = "*embedder", .mostRank = 2},
        {.role = Linear, .last = "*patch_embed*", .mostRank = 2},
        {.role = Convolution, .last = "*patch_embed*"},
        // Tables
        {.role = Position, .last = "wpe"},
        {.role = Position, .last = "*bias_table"},
        {.role = Position, .last = "embed_positions*"},
        {.role = Position, .last = "*pos_emb*"},
        {.role = Position, .last = "*embed*", .path = "position"},
        {.role = Position, .last = "*rel_pos*"},
        {.role = Position, .last = "rel_embeddings"},
        {.role = Position, .last = "token_type*"},
        {.role = Position, .last = "seg_embed*"},
        {.role = Position, .last = "segment_embed*"},
        {.role = Position, .last = "cls_token"},
        {.role = Position, .last = "mask_token"},
        {.role = Position, .last = "register_tokens"},
        {.role = Position, .last = "dist*_token"},
        {.role = Position, .last = "", .path = ".rotary_emb."},
        {.role = Embedding, .last = "wte", .mostRank = 2},
        {.role = Embedding, .last = "shared", .mostRank = 2},
        {.role = Embedding, .last = "emb", .mostRank = 2},
        {.role = Embedding, .last = "w", .path = ".transformer.w.", .mostRank = 2, .network = "ctrl"},
        {.role = Embedding, .last = "*embed*", .mostRank = 2},
        {.role = Embedding, .last = "*embd*", .mostRank = 2},
    };
    return rows;
}

/// Whether a text fits a pattern in which each "*" stands for any text.
bool fitsPattern(std::string_view text, std::string_view pattern) {
    auto star = pattern.find('*');
    if (star == pattern.npos) return text == pattern || pattern.empty();
    if (!text.starts_with(pattern.substr(0, star))) return false;
    for (;;) {
        text.remove_prefix(star), pattern.remove_prefix(star + 1);
        star = pattern.find('*');
        if (star == pattern.npos) return text.ends_with(pattern);
        const auto at = text.find(pattern.substr(0, star));
        if (at == text.npos) return false;
        text.remove_prefix(at);
    }
}

/// The name as rows compare it, with a dot before and behind it.
std::string comparableName(std::string_view name) {
    constexpr std::size_t kMost = 400; // an untrusted name may be long; its end says what it is
    if (name.size() > kMost) name.remove_prefix(name.size() - kMost);
    if (name.ends_with(":0")) name.remove_suffix(2); // Keras
    std::string out = ".";
    for (const char c : name) {
        const bool isDigit = c >= '0' && c <= '9';
        if (isDigit && out.back() == '0') continue;
        out += isDigit ? '0' : c >= 'A' && c <= 'Z' ? char(c + 32) : c == '/' ? '.' : c;
    }
    for (const std::string_view end : {".vars.0", ".weight", ".kernel", ".matmul"})
        if (out.ends_with(end) && out.size() > end.size()) out.erase(out.size() - end.size());
    return out + ".";
}

/// The name of the module around a module: ".a.b." for ".a.b.c.".
std::string_view parentOfModule(std::string_view comparable) {
    if (comparable.size() < 2) return comparable;
    comparable.remove_suffix(1);
    return comparable.substr(0, comparable.rfind('.') + 1);
}

/// Decides the roles of a model's tensors. Tensors of many layers have the same role, so answers are kept.
class RoleDecision {
public:
    explicit RoleDecision(const Model& model) : model_(model) {
        isGguf_ = !model.files.empty() && model.files.front().metadata.contains("general.architecture");
        for (const TensorInfo& tensor : model.tensors) {
            const std::string_view raw = tensor.name;
            if (raw.find("xperts") == raw.npos && raw.find("switch_mlp") == raw.npos) continue;
            const std::string name = comparableName(raw);
            for (const std::string_view part : {".experts.", ".switch_mlp."})
                if (const auto at = name.find(part); at != name.npos && aroundExperts_.size() < kMostKept)
                    aroundExperts_.insert(name.substr(0, at + 1));
        }
    }

    TensorRole roleOf(const TensorInfo& tensor) {
        if (tensor.shape.size() < 2) return TensorRole::Vector;
        const Named named{comparableName(tensor.name), int(std::min<std::size_t>(tensor.shape.size(), 9)),
                          tensor.shape.size() == 3 && (tensor.shape[1] == 1 || tensor.shape[2] == 1),
                          tensor.name.ends_with("kernel")};
        std::string key = named.name;
        key += char('0' + named.rank), key += named.isDepthwise ? 'd' : 'w', key += named.isKernel ? 'k' : 'w';
        if (const auto known = known_.find(key); known != known_.end()) return known->second;
        TensorRole role = decide(named);
        // A stored head that is tied is the embedding once more; loaders take the embedding.
        if (role == TensorRole::Head && !isGguf_ && config().tiesHead) role = TensorRole::Embedding;
        if (known_.size() < kMostKept) known_.emplace(std::move(key), role);
        return role;
    }

    TensorRole roleOfMatrix(std::string_view name) { return decide({comparableName(name), 2, false, false}); }

private:
    static constexpr std::size_t kMostKept = 4096;

    struct Named {
        std::string name; ///< comparableName()
        int rank;
        bool isDepthwise;
        bool isKernel; ///< of Keras or Flax, where a matrix may have more than two axes
    };

    TensorRole decide(const Named& one) {
        const std::string_view last = std::string_view(one.name).substr(parentOfModule(one.name).size());
        const std::string_view module = last.substr(0, last.size() - 1);
        if (saysNorm(module) || module.starts_with("ln_") || module.ends_with("_ln")) return TensorRole::Norm;
        for (const RoleName& row : roleNames())
            if (one.rank >= row.leastRank && one.rank <= row.mostRank && fitsPattern(module, row.last) &&
                isOnPath(one.name, row.path) && (row.needs != RoleNeeds::Depthwise || one.isDepthwise) &&
                (row.needs != RoleNeeds::Experts || isBesideExperts(one.name)) && isOf(row.network))
                return row.role;
        const bool saysConvolution = one.name.find("conv") != one.name.npos;
        if (one.rank >= 3 && (saysConvolution || (one.rank > 3 && !one.isKernel))) return TensorRole::Convolution;
        return one.rank == 2 && (isGguf_ || !networkType().empty()) ? TensorRole::Linear : TensorRole::Unknown;
    }

    static bool isOnPath(std::string_view name, std::string_view path) {
        if (path.starts_with('^')) return name.starts_with(path.substr(1));
        return path.empty() || name.find(path) != name.npos;
    }
    bool isBesideExperts(std::string_view name) const {
        const std::string_view parent = parentOfModule(name);
        return aroundExperts_.contains(parent) || aroundExperts_.contains(parentOfModule(parent));
    }
    bool isOf(std::string_view network) {
        if (network.empty()) return true;
        return network == kGgufNames ? isGguf_ : !isGguf_ && networkType().starts_with(network);
    }
    /// Read when it is asked for.
    const CheckpointConfig& config() {
        if (!config_) config_ = readCheckpointConfig(model_);
        return *config_;
    }
    /// model_type of config.json, with every number as 0; "" for GGUF.
    const std::string& networkType() {
        if (!type_) {
            const std::string named = isGguf_ ? std::string() : comparableName(config().modelType);
            type_ = named.size() > 2 ? named.substr(1, named.size() - 2) : std::string();
        }
        return *type_;
    }

    const Model& model_;
    bool isGguf_ = false;
    std::optional<CheckpointConfig> config_;
    std::optional<std::string> type_;
    std::set<std::string, std::less<>> aroundExperts_; ///< modules that hold a module of experts
    std::unordered_map<std::string, TensorRole> known_;
};

} // namespace

std::span<const RoleRow> tensorRoles() { return kRoles; }

const RoleRow& rowOf(TensorRole role) { return kRoles[std::size_t(role)]; }

TensorRole roleOfMatrix(const Model& model, std::string_view name) { return RoleDecision(model).roleOfMatrix(name); }

void assignRoles(Model& model) {
    RoleDecision decision(model);
    for (TensorInfo& tensor : model.tensors)
        if (tensor.role != TensorRole::Part) tensor.role = decision.roleOf(tensor);
}

} // namespace qs
