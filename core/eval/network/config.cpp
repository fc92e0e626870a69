// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/config.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/companion.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <span>

namespace qs::eval {
namespace {

using nlohmann::json;

/// Keys of config.json that do not change a forward pass without training.
constexpr std::string_view kHarmless[] = {"_name_or_path",
                                          "add_cross_attention",
                                          "architectures",
                                          "attention_dropout",
                                          "attn_pdrop",
                                          "auto_map",
                                          "begin_suppress_tokens",
                                          "bos_token_id",
                                          "chunk_size_feed_forward",
                                          "cross_attention_hidden_size",
                                          "decoder_start_token_id",
                                          "dtype",
                                          "embd_pdrop",
                                          "eos_token_id",
                                          "id2label",
                                          "initializer_range",
                                          "is_decoder",
                                          "is_encoder_decoder",
                                          "keys_to_ignore_at_inference",
                                          "label2id",
                                          "max_position_embeddings",
                                          "model_type",
                                          "n_ctx",
                                          "name_or_path",
                                          "output_attentions",
                                          "outer_model_type",
                                          "output_hidden_states",
                                          "pad_token_id",
                                          "prefix",
                                          "pretraining_tp",
                                          "problem_type",
                                          "quantization", // of mlx_lm
                                          "quantization_config",
                                          "reorder_and_upcast_attn",
                                          "resid_pdrop",
                                          "return_dict",
                                          "sep_token_id",
                                          "summary_activation",
                                          "summary_first_dropout",
                                          "summary_proj_to_labels",
                                          "summary_type",
                                          "summary_use_proj",
                                          "suppress_tokens",
                                          "task_specific_params",
                                          "tf_legacy_loss",
                                          "tie_encoder_decoder",
                                          "tokenizer_class",
                                          "torch_dtype",
                                          "torchscript",
                                          "transformers_version",
                                          "unsloth_version",
                                          "use_bfloat16",
                                          "use_cache",
                                          "finetuning_task",
                                          "gradient_checkpointing",
                                          "hidden_dropout",
                                          "cache_implementation",
                                          "resid_dropout",
                                          "embd_dropout",
                                          "mlp_dropout"};

bool isHarmless(std::string_view key) {
    return std::find(std::begin(kHarmless), std::end(kHarmless), key) != std::end(kHarmless);
}

/// GGUF's name of a key after "ARCHITECTURE.", and the one of config.json.
struct GgufKey {
    const char* gguf;
    const char* name;
};
constexpr GgufKey kGgufKeys[] = {
    {"block_count", "num_hidden_layers"},
    {"context_length", "max_position_embeddings"},
    {"embedding_length", "hidden_size"},
    {"feed_forward_length", "intermediate_size"},
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.key_length", "head_dim"},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    {"attention.layer_norm_epsilon", "layer_norm_epsilon"},
    {"attention.sliding_window", "sliding_window"},
    {"rope.freq_base", "rope_theta"},
    {"rope.dimension_count", "rotary_dimensions"},
    {"rope.freq_base_swa", "rope_local_base_freq"},
    {"attention.sliding_window_pattern", "sliding_window_pattern"},
    {"expert_count", "num_experts"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"vocab_size", "vocab_size"},
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
};
/// The same below rope_scaling.
constexpr GgufKey kGgufRopeKeys[] = {{"rope.scaling.type", "rope_type"},
                                     {"rope.scaling.factor", "factor"},
                                     {"rope.scaling.original_context_length", "original_max_position_embeddings"},
                                     {"rope.scaling.attn_factor", "attention_factor"}};
/// Keys of GGUF files, behind "ARCHITECTURE.", that repeat other keys or do not change arithmetic.
constexpr std::string_view kGgufHarmless[] = {"attention.value_length"};

std::optional<double> numberIn(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
}

const char* nameOf(std::span<const GgufKey> keys, std::string_view gguf) {
    for (const GgufKey& row : keys)
        if (gguf == row.gguf) return row.name;
    return nullptr;
}

json valueOf(const std::string& text) {
    if (text == "true" || text == "false") return text == "true";
    const auto number = numberIn(text);
    if (!number) return text;
    if (*number == std::floor(*number) && std::fabs(*number) < 0x1p52) return std::int64_t(*number);
    return *number;
}

/// Converts the keys of a GGUF file to those of a config.json.
json fromGguf(const std::map<std::string, std::string>& metadata, const std::string& architecture) {
    json out = json::object();
    const std::string prefix = architecture + ".";
    for (const auto& [key, text] : metadata) {
        if (!key.starts_with(prefix)) continue;
        const std::string_view rest = std::string_view(key).substr(prefix.size());
        if (std::find(std::begin(kGgufHarmless), std::end(kGgufHarmless), rest) != std::end(kGgufHarmless)) continue;
        if (const char* name = nameOf(kGgufRopeKeys, rest))
            out["rope_scaling"][name] = valueOf(text);
        else if (const char* known = nameOf(kGgufKeys, rest))
            out[known] = valueOf(text);
        else
            out[std::string(rest)] = valueOf(text);
    }
    // Phi-3 files have a tensor of divisors and no key for the type.
    if (const auto scaling = out.find("rope_scaling"); scaling != out.end() && scaling->contains("attention_factor"))
        scaling->emplace("rope_type", "longrope");
    return out;
}

/// Networks with pictures or sound around a language model, whose text_config may leave its type out: the class default
/// in transformers.
struct Wrapper {
    std::string_view type, text;
};
constexpr Wrapper kWrappers[] = {{"gemma3", "gemma3_text"}, {"llava", "llama"},     {"llava_next", "llama"},
                                 {"mistral3", "mistral"},   {"paligemma", "gemma"}, {"vipllava", "llama"},
                                 {"idefics3", "llama"},     {"smolvlm", "llama"}};
/// A key that we add to the language model's part of a configuration: the type of the whole network.
constexpr const char* kOuterType = "outer_model_type";

/// The language model's part of a configuration. What is beside it is about pictures and sound, and about the files:
/// whether the head is tied may stand at either place.
json languagePart(json tree) {
    const auto text = tree.find("text_config");
    if (text == tree.end() || !text->is_object()) return tree;
    json out = std::move(*text);
    const std::string type = textAt(tree, "model_type");
    for (const Wrapper& row : kWrappers)
        if (row.type == type) out.emplace("model_type", row.text);
    for (const char* key : {"tie_word_embeddings", "quantization", "quantization_config"})
        if (tree.contains(key)) out.emplace(key, tree[key]);
    out[kOuterType] = type;
    return out;
}

} // namespace

Result<Config> Config::of(const Model& model) {
    Config config;
    if (!model.files.empty()) {
        const auto& metadata = model.files.front().metadata;
        if (const auto found = metadata.find("general.architecture"); found != metadata.end()) {
            config.isGguf_ = true;
            config.place_ = model.files.front().path;
            config.modelType_ = found->second;
            config.tree_ = std::make_shared<const json>(fromGguf(metadata, config.modelType_));
            return config;
        }
    }
    const auto folder =
        model.folder.empty() ? std::filesystem::path(model.path).parent_path() : std::filesystem::path(model.folder);
    config.place_ = (folder / "config.json").string();
    auto tree = readCompanionTree(config.place_);
    if (!tree) return tl::unexpected(tree.error());
    if (tree->is_null())
        return fail(fmt::format("There is no config.json beside {}: it says how the tensors make a network.",
                                shownPath(model.path)),
                    model.path);
    if (!tree->is_object()) return fail(fmt::format("{} is no JSON object.", escapeForPeople(config.place_, 200)));
    config.tree_ = std::make_shared<const json>(languagePart(std::move(*tree)));
    config.modelType_ = textAt(*config.tree_, "model_type");
    if (config.modelType_.empty())
        return fail(fmt::format("{} has no model_type{}.", escapeForPeople(config.place_, 200),
                                config.tree_->contains(kOuterType) ? " in its text_config" : ""),
                    config.place_);
    config.read_.insert("model_type");
    return config;
}

const json* Config::find(const char* key) {
    read_.insert(key);
    const auto found = tree_->find(key);
    return found == tree_->end() || found->is_null() ? nullptr : &*found;
}

bool Config::has(const char* key) { return find(key) != nullptr; }

bool Config::mentions(const char* key) const { return tree_->contains(key); }

std::int64_t Config::count(const char* key) {
    if (!find(key)) {
        refuse(fmt::format("has no {}", key));
        return 1;
    }
    return count(key, 1);
}

std::int64_t Config::count(const char* key, std::int64_t otherwise) {
    const json* found = find(key);
    if (!found) return otherwise;
    if (found->is_number_integer() && *found >= 1 && *found <= (std::int64_t(1) << 24))
        return found->get<std::int64_t>();
    refuse(fmt::format("has a {} that is not a whole number from 1 to 2^24", key));
    return otherwise;
}

double Config::number(const char* key, double otherwise, NumberRange range) {
    read_.insert(key);
    return number(*tree_, nullptr, key, otherwise, range);
}

double Config::number(const json& object, const char* name, const char* key, double otherwise, NumberRange range) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return otherwise;
    if (found->is_number())
        if (const auto value = found->get<double>(); value >= range.least && value <= range.most) return value;
    refuse(fmt::format("has a {}{}{} that is not a number from {} to {}", name ? name : "", name ? "." : "", key,
                       range.least, range.most));
    return otherwise;
}

bool Config::flag(const char* key, bool otherwise) {
    const json* found = find(key);
    if (!found) return otherwise;
    if (found->is_boolean()) return found->get<bool>();
    refuse(fmt::format("has a {} that is neither true nor false", key));
    return otherwise;
}

std::string Config::text(const char* key, std::string otherwise) {
    const json* found = find(key);
    if (!found) return otherwise;
    if (found->is_string()) return found->get<std::string>();
    refuse(fmt::format("has a {} that is not text", key));
    return otherwise;
}

const json& Config::value(const char* key) {
    static const json kNothing;
    const json* found = find(key);
    return found ? *found : kNothing;
}

void Config::ignore(std::initializer_list<const char*> keys) { read_.insert(keys.begin(), keys.end()); }

void Config::refuse(std::string why) {
    if (!problem_) problem_ = std::move(why);
}

Result<void> Config::finish() const {
    const std::string place = escapeForPeople(place_, 200);
    if (problem_) return fail(fmt::format("{} {}.", place, *problem_), place_);
    for (const auto& [key, value] : tree_->items())
        if (!read_.contains(key) && !isHarmless(key) && !value.is_null())
            return fail(fmt::format("{} has the key {}, which may change the arithmetic and is not known for {}.",
                                    place, quotedName(key), quotedName(modelType_)),
                        place_);
    return {};
}

} // namespace qs::eval
