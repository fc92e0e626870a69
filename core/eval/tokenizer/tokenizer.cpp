// SPDX-License-Identifier: GPL-3.0-or-later
// tokenizer.json, and which file a model's tokenizer comes from.
#include "core/eval/tokenizer/tokenizer.h"

#include "core/base/json_tree.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/eval/tokenizer/pipeline.h"
#include "core/eval/tokenizer/sources.h"
#include "core/eval/tokenizer/vocabulary.h"
#include "core/model/companion.h"
#include "core/model/mapped_file.h"
#include "core/model/model.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs::eval {
namespace {

using nlohmann::json;

constexpr std::size_t kMostTokenizer = std::size_t(64) << 20; ///< bytes of tokenizer.json

Result<void> readAddedTokens(const json& list, TokenizerParts& into) {
    const Vocabulary& vocabulary = into.model->vocabulary();
    into.size = vocabulary.size();
    if (list.is_array() && list.size() > std::size_t(kMostIds)) return fail("has too many added tokens");
    for (const json& entry : list) {
        auto token = readAddedToken(entry);
        if (!token) return tl::unexpected(token.error());
        if (const std::int32_t own = vocabulary.idOf(token->text); own >= 0) token->id = own; // as the package takes it
        const std::string& other = vocabulary.tokenOf(token->id);
        if (!other.empty() && other != token->text)
            return fail(
                fmt::format("gives the id {} to {} and to {}", token->id, quotedName(other), quotedName(token->text)));
        into.size = std::max(into.size, token->id + 1);
        if (token->normalized) {
            TrackedText text{token->text, {}};
            if (auto done = normalize(into.normalizers, text); !done) return done;
            if (!text.bytes.empty()) token->text = text.bytes;
        }
        (token->normalized ? into.normalized : into.raw).add(std::move(*token));
    }
    return {};
}

Result<TokenizerParts> readParts(const json& tree) {
    TokenizerParts parts;
    if (auto read = readNormalizer(valueAt(tree, "normalizer"), parts.normalizers); !read)
        return tl::unexpected(read.error());
    if (auto read = readPreTokenizer(valueAt(tree, "pre_tokenizer"), parts.cuts); !read)
        return tl::unexpected(read.error());
    auto model = readModel(valueAt(tree, "model"), parts.cuts.spellsBytes);
    if (!model) return tl::unexpected(model.error());
    parts.model = std::move(*model);
    if (auto read = readAddedTokens(valueAt(tree, "added_tokens"), parts); !read) return tl::unexpected(read.error());
    if (auto read = readPostProcessor(valueAt(tree, "post_processor"), parts.size, parts.frame); !read)
        return tl::unexpected(read.error());
    return parts;
}

/// The keys stand before the first tensor of the first file.
Result<std::shared_ptr<const Tokenizer>> ofGguf(const Model& model) {
    const MappedFile& file = *model.files[0].mapping;
    std::uint64_t end = file.size();
    for (const TensorInfo& tensor : model.tensors)
        if (tensor.file == 0 && !tensor.derived) end = std::min(end, tensor.offset);
    std::vector<std::byte> scratch;
    return parseGgufTokenizer(file.read(0, std::size_t(end), scratch), file.path());
}

/// tokenizer_config.json says which tokens are put around a text. Without it the token for the begin is put before the
/// text, as in Llama.
Result<std::shared_ptr<const Tokenizer>> ofSentencePiece(const std::filesystem::path& folder) {
    const std::string path = (folder / "tokenizer.model").string();
    const auto bytes = readFileOfModel(path, kMostTokenizer);
    if (!bytes) return tl::unexpected(bytes.error());
    const auto config = readCompanionTree((folder / "tokenizer_config.json").string());
    if (!config) return tl::unexpected(config.error());
    return parseSentencePiece(*bytes, path, flagAt(*config, "add_bos_token", true),
                              flagAt(*config, "add_eos_token", false));
}

} // namespace

Result<std::shared_ptr<const Tokenizer>> parseTokenizer(std::string_view text, const std::string& path) {
    const std::string place = shownPath(path);
    const auto tree = readJsonTree(text, kMostTokenizer);
    if (!tree) return fail(fmt::format("{} {}.", place, tree.error().message), path);
    const PatternTime time(text.size()); // the texts of added tokens are normalized
    auto parts = readParts(*tree);
    if (!parts) return fail(fmt::format("{} {}.", place, parts.error().message), path);
    parts->path = path;
    return makeTokenizer(std::move(*parts));
}

Result<std::shared_ptr<const Tokenizer>> tokenizerOf(const Model& model) {
    if (!model.files.empty() && model.files[0].metadata.contains("tokenizer.ggml.model")) return ofGguf(model);
    const auto folder =
        model.folder.empty() ? std::filesystem::path(model.path).parent_path() : std::filesystem::path(model.folder);
    std::error_code error;
    const auto exists = [&](const char* name) { return std::filesystem::exists(folder / name, error); };
    if (!exists("tokenizer.json") && exists("tokenizer.model")) return ofSentencePiece(folder);
    const std::string path = (folder / "tokenizer.json").string();
    const auto text = readFileOfModel(path, kMostTokenizer);
    if (!text) return tl::unexpected(text.error());
    return parseTokenizer(*text, path);
}

} // namespace qs::eval
