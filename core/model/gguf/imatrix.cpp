// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/gguf/imatrix.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/file_set.h"
#include "core/model/foreign_file.h"
#include "core/model/list_budget.h"
#include "core/model/mapped_file.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <set>

namespace qs {
namespace {

constexpr std::uint64_t kLeastRow = 4 + 1 + 4 + 4 + 4, kPerSeen = 80;
constexpr std::int32_t kMostEntries = 262'144, kMostName = 256;

std::int32_t i32At(std::span<const std::byte> bytes, std::size_t at) {
    std::int32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

bool isName(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) { return c > ' ' && c < '\x7f'; });
}

class ImatrixWalk {
public:
    ImatrixWalk(std::uint64_t size, const ReadBytes& read, const std::string& path)
        : size_(size), read_(read), path_(path) {}

    Result<std::vector<TensorInfo>> tensors() {
        std::vector<TensorInfo> out;
        std::int32_t entries = 0;
        if (!number(entries, "the number of entries")) return std::move(failed_);
        if (entries < 1 || entries > kMostEntries)
            return wrong(fmt::format("it has {} entries, where 1 to {} can be", entries, kMostEntries), 0);
        ListBudget budget(size_);
        // Reserved at once, so that no second copy is needed to grow. Pages that are never written use no memory.
        out.reserve(2 * std::size_t(std::min<std::uint64_t>(std::uint64_t(entries), size_ / kLeastRow)));
        std::set<std::string> seen;
        for (std::int32_t i = 0; i < entries; ++i) {
            const std::uint64_t begin = at_;
            std::int32_t length = 0, calls = 0, columns = 0;
            if (!number(length, "the length of a name")) return std::move(failed_);
            if (length < 1 || length > kMostName)
                return wrong(
                    fmt::format("the name of entry {} has {} bytes, where 1 to {} can be", i, length, kMostName),
                    begin);
            if (std::uint64_t(length) > size_ - at_) return wrong("it ends within a name", begin);
            std::string name(std::size_t(length), '\0');
            read_(at_, std::as_writable_bytes(std::span(name)));
            at_ += std::uint64_t(length);
            if (!isName(name)) return wrong(fmt::format("the name of entry {} is no text", i), begin);
            if (!seen.insert(name).second) return wrong(fmt::format("it has {} twice", quotedName(name)), begin);
            const std::uint64_t callsAt = at_;
            if (!number(calls, "the number of calls") || !number(columns, "the number of columns"))
                return std::move(failed_);
            if (calls < 0) return wrong(fmt::format("{} was called {} times", quotedName(name), calls), callsAt);
            if (columns < 1) return wrong(fmt::format("{} has {} columns", quotedName(name), columns), callsAt + 4);
            const std::uint64_t bytes = std::uint64_t(columns) * 4;
            if (bytes > size_ - at_)
                return wrong(fmt::format("the {} columns of {} end after the file", columns, quotedName(name)), at_);
            out.push_back(made(name + ".in_sum2", DType::F32, columns, at_));
            out.push_back(made(name + ".counts", DType::I32, 1, callsAt));
            if (!budget.take(kPerSeen + ListBudget::of(name)) || !budget.take(out.back()) ||
                !budget.take(out[out.size() - 2]))
                return wrong(budget.why("its list"), at_);
            at_ += bytes;
        }
        return out;
    }

private:
    static TensorInfo made(std::string name, DType dtype, std::int64_t elements, std::uint64_t offset) {
        TensorInfo tensor;
        tensor.name = std::move(name);
        tensor.dtype = dtype;
        tensor.shape = {elements};
        tensor.elements = std::uint64_t(elements);
        tensor.bytes = tensor.elements * 4;
        tensor.offset = offset;
        return tensor;
    }
    tl::unexpected<Error> wrong(const std::string& what, std::uint64_t at) const {
        return fail(fmt::format("{}: {} (byte {} of an importance matrix).", shownPath(path_), what, at), path_,
                    static_cast<long long>(at));
    }
    bool number(std::int32_t& out, const char* what) {
        if (size_ - at_ < 4) {
            failed_ = wrong(fmt::format("it ends before {}", what), at_);
            return false;
        }
        std::byte bytes[4];
        read_(at_, bytes);
        out = i32At(bytes, 0);
        at_ += 4;
        return true;
    }
    std::uint64_t size_, at_ = 0;
    const ReadBytes& read_;
    const std::string& path_;
    tl::unexpected<Error> failed_{Error{}};
};

} // namespace

Result<std::vector<TensorInfo>> parseImatrix(std::uint64_t fileSize, const ReadBytes& read, const std::string& path) {
    return ImatrixWalk(fileSize, read, path).tensors();
}

bool looksLikeImatrix(std::span<const std::byte> head) {
    if (head.size() < 20) return false;
    const std::int32_t entries = i32At(head, 0), length = i32At(head, 4);
    if (entries < 1 || entries > kMostEntries || length < 1 || length > kMostName) return false;
    const auto name = std::size_t(length);
    if (head.size() < name + 16) return false;
    const std::string_view text(reinterpret_cast<const char*>(head.data()) + 8, name);
    return isName(text) && text.find('.') != text.npos && i32At(head, 8 + name) >= 0 && i32At(head, 12 + name) > 0;
}

Result<std::shared_ptr<Model>> openImatrix(const std::string& path) {
    auto mapping = openWhole(path);
    if (!mapping) return tl::unexpected(mapping.error());
    const MappedFile& file = **mapping;
    auto tensors = parseImatrix(
        file.size(), [&](std::uint64_t at, std::span<std::byte> into) { file.readInto(at, into); }, path);
    if (file.faulted())
        if (auto same = file.unchanged(); !same) return tl::unexpected(same.error());
    if (!tensors) return tl::unexpected(tensors.error());
    auto model = newModel(path, "imatrix");
    model->files.push_back({file.path(), file.size(), *mapping, {}});
    model->tensors = std::move(*tensors);
    sortByName(*model);
    return model;
}

namespace {

struct GgufPair {
    std::string_view theirs, gguf; ///< in `theirs` "{}" stands for the number of an expert
};
constexpr GgufPair kWhole[] = {{"model.embed_tokens.weight", "token_embd.weight"},
                               {"lm_head.weight", "output.weight"},
                               {"model.norm.weight", "output_norm.weight"}};
constexpr GgufPair kInLayer[] = {{"self_attn.q_proj", "attn_q"},
                                 {"self_attn.k_proj", "attn_k"},
                                 {"self_attn.v_proj", "attn_v"},
                                 {"self_attn.o_proj", "attn_output"},
                                 {"mlp.gate_proj", "ffn_gate"},
                                 {"mlp.up_proj", "ffn_up"},
                                 {"mlp.down_proj", "ffn_down"},
                                 {"input_layernorm", "attn_norm"},
                                 {"post_attention_layernorm", "ffn_norm"},
                                 {"self_attn.qkv_proj", "attn_qkv"},
                                 {"mlp.gate_up_proj", "ffn_up"},
                                 {"attn.c_attn", "attn_qkv"},
                                 {"attn.c_proj", "attn_output"},
                                 {"mlp.c_fc", "ffn_up"},
                                 {"mlp.c_proj", "ffn_down"},
                                 {"block_sparse_moe.gate", "ffn_gate_inp"},
                                 {"block_sparse_moe.experts.{}.w1", "ffn_gate_exps"},
                                 {"block_sparse_moe.experts.{}.w3", "ffn_up_exps"},
                                 {"block_sparse_moe.experts.{}.w2", "ffn_down_exps"},
                                 {"mlp.gate", "ffn_gate_inp"},
                                 {"mlp.experts.{}.gate_proj", "ffn_gate_exps"},
                                 {"mlp.experts.{}.up_proj", "ffn_up_exps"},
                                 {"mlp.experts.{}.down_proj", "ffn_down_exps"},
                                 // All experts as one tensor; the rows of gate and up have the same inputs.
                                 {"mlp.experts.gate_up_proj", "ffn_gate_exps"},
                                 {"mlp.experts.down_proj", "ffn_down_exps"}};
constexpr int kMostExperts = 1 << 16;

/// The number that a text is; -1: it is none.
int numberOf(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && value >= 0 && value < kMostExperts ? value : -1;
}

/// Whether a name fits a pattern; sets the number of the expert where it has one.
bool isLike(std::string_view name, std::string_view pattern, int& expert) {
    const auto hole = pattern.find("{}");
    if (hole == pattern.npos) return name == pattern;
    const std::string_view end = pattern.substr(hole + 2);
    if (name.size() < hole + 1 + end.size() || !name.starts_with(pattern.substr(0, hole)) || !name.ends_with(end))
        return false;
    expert = numberOf(name.substr(hole, name.size() - hole - end.size()));
    return expert >= 0;
}

} // namespace

GgufPlace ggufPlaceOf(std::string_view name) {
    for (const auto& [theirs, gguf] : kWhole)
        if (name == theirs) return {std::string(gguf)};
    constexpr std::string_view kEnd = ".weight";
    static constexpr std::string_view kLayers[] = {"model.layers.",
                                                   "transformer.h.",
                                                   "h.",
                                                   "layers.",
                                                   "language_model.model.layers.",
                                                   "model.language_model.layers."};
    const auto layers = std::ranges::find_if(kLayers, [&](auto l) { return name.starts_with(l); });
    if (layers == std::end(kLayers)) return {};
    name.remove_prefix(layers->size());
    const auto dot = name.find('.');
    const auto number = name.substr(0, dot);
    if (dot == name.npos || number.empty() || number.find_first_not_of("0123456789") != number.npos) return {};
    std::string_view rest = name.substr(dot + 1);
    const bool isWeight = rest.ends_with(kEnd);
    if (isWeight) rest.remove_suffix(kEnd.size());
    GgufPlace out;
    for (const auto& [theirs, gguf] : kInLayer) {
        const bool isFused = theirs.find("experts.") != theirs.npos && theirs.find("{}") == theirs.npos;
        if (isFused != isWeight && isLike(rest, theirs, out.expert)) {
            out.name = fmt::format("blk.{}.{}.weight", number, gguf);
            break;
        }
    }
    return out;
}

std::string ggufNameOf(std::string_view name) { return ggufPlaceOf(name).name; }

} // namespace qs
