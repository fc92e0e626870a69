// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/tokenizer.h"

#include "core/base/json_tree.h"
#include "core/base/strict_json.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/eval/tokenizer/bpe.h"
#include "core/eval/tokenizer/byte_level.h"
#include "core/eval/tokenizer/pieces.h"
#include "core/model/companion.h"
#include "core/model/model.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace qs::eval {
namespace {

using nlohmann::json;

constexpr std::size_t kMostTokenizer = std::size_t(64) << 20; ///< bytes of tokenizer.json
constexpr std::size_t kMostRemembered = 1 << 16;              ///< pieces whose ids are kept

struct AddedToken {
    std::string text;
    std::int32_t id = 0;
    bool takesSpaceBefore = false, takesSpaceAfter = false; ///< lstrip, rstrip
};

class BpeTokenizer final : public Tokenizer {
public:
    static Result<std::shared_ptr<const Tokenizer>> read(const json& tree) {
        auto made = std::make_shared<BpeTokenizer>();
        auto normalize = readNormalizer(valueAt(tree, "normalizer"));
        if (!normalize) return tl::unexpected(normalize.error());
        auto cuts = readPreTokenizer(valueAt(tree, "pre_tokenizer"));
        if (!cuts) return tl::unexpected(cuts.error());
        const json& model = valueAt(tree, "model");
        if (const std::string type = textAt(model, "type"); !type.empty() && type != "BPE")
            return fail(fmt::format("has a model of type {}, which is not known: known is BPE", quotedName(type)));
        auto bpe = Bpe::read(model);
        if (!bpe) return tl::unexpected(bpe.error());
        made->normalize_ = std::move(*normalize), made->cuts_ = std::move(*cuts), made->bpe_ = std::move(*bpe);
        made->size_ = made->bpe_.size();
        if (auto added = made->readAdded(valueAt(tree, "added_tokens")); !added) return tl::unexpected(added.error());
        made->readTexts();
        if (auto before = made->readPostProcessor(valueAt(tree, "post_processor")); !before)
            return tl::unexpected(before.error());
        return made;
    }

    std::int32_t size() const override { return size_; }

    std::string bytesOf(std::int32_t id) const override {
        return id < 0 || id >= size_ ? std::string() : texts_[std::size_t(id)];
    }

    Result<std::vector<std::int32_t>> encode(std::string_view text, const Job& job) const override {
        if (invalidUtf8(text) != std::string_view::npos) return fail("The text is not UTF-8.");
        std::vector<std::int32_t> out = before_;
        Memory memory;
        std::size_t begin = 0;
        for (std::size_t at = 0; at < text.size();) {
            if (job.cancelled()) return cancelledError();
            const auto [found, token] = nextAdded(text, at);
            std::size_t from = found;
            if (token && token->takesSpaceBefore)
                while (from > begin && isSpace(text[from - 1])) --from;
            encodePlain(text.substr(begin, from - begin), begin == 0, memory, out);
            if (!token) break;
            out.push_back(token->id);
            at = found + token->text.size();
            if (token->takesSpaceAfter)
                while (at < text.size() && isSpace(text[at])) ++at;
            begin = at;
        }
        out.insert(out.end(), after_.begin(), after_.end());
        return out;
    }

private:
    using Memory = std::unordered_map<std::string, std::vector<std::int32_t>>;
    static bool isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

    Result<void> readAdded(const json& list) {
        for (const json& entry : list) {
            AddedToken token{textAt(entry, "content"), 0, flagAt(entry, "lstrip", false),
                             flagAt(entry, "rstrip", false)};
            const auto id = countAt(entry, "id");
            if (token.text.empty() || !id || *id > (1 << 24)) return fail("has an added token without text or id");
            if (flagAt(entry, "single_word", false))
                return fail(fmt::format("has the added token {}, which is a whole word only", quotedName(token.text)));
            token.id = std::int32_t(*id);
            size_ = std::max(size_, token.id + 1);
            added_.push_back(std::move(token));
        }
        // Of tokens that begin at one place the longest is taken.
        std::stable_sort(added_.begin(), added_.end(),
                         [](const AddedToken& a, const AddedToken& b) { return a.text.size() > b.text.size(); });
        return {};
    }

    void readTexts() {
        static constexpr std::string_view kMark = "\u2581"; // a space, in vocabularies that do not spell bytes
        texts_.resize(std::size_t(size_));
        for (const auto& [token, id] : bpe_.vocabulary()) {
            std::string& text = texts_[std::size_t(id)];
            text = cuts_.spellsBytes ? bytesSpelledBy(token) : token;
            if (cuts_.spellsBytes) continue;
            for (std::size_t at = 0; (at = text.find(kMark, at)) != std::string::npos; ++at)
                text.replace(at, kMark.size(), " ");
            if (const int byte = bpe_.byteOf(id); byte >= 0) text = {char(byte)};
        }
        for (const AddedToken& token : added_) texts_[std::size_t(token.id)] = token.text;
    }

    std::int32_t specialId(const json& processor, const std::string& name) const {
        const json& ids = valueAt(valueAt(valueAt(processor, "special_tokens"), name.c_str()), "ids");
        return ids.is_array() && ids.size() == 1 && ids[0].is_number_integer() ? ids[0].get<std::int32_t>() : -1;
    }

    /// Which tokens stand before and after a text.
    Result<void> readPostProcessor(const json& processor) {
        if (processor.is_null()) return {};
        const std::string type = textAt(processor, "type");
        if (type == "ByteLevel") return {}; // trims offsets only
        if (type == "Sequence") {
            for (const json& inner : valueAt(processor, "processors"))
                if (auto read = readPostProcessor(inner); !read) return read;
            return {};
        }
        if (type != "TemplateProcessing")
            return fail(fmt::format("has the post-processor {}, which is not known", quotedName(type)));
        bool isAfter = false;
        for (const json& part : valueAt(processor, "single")) {
            if (part.contains("Sequence")) {
                isAfter = true;
                continue;
            }
            const std::string name = textAt(valueAt(part, "SpecialToken"), "id");
            const std::int32_t id = specialId(processor, name);
            if (id < 0 || id >= size_) return fail(fmt::format("has no id for the special token {}", quotedName(name)));
            (isAfter ? after_ : before_).push_back(id);
        }
        return {};
    }

    /// The next added token from `from` on, and where it begins; the end of the text and null without one.
    std::pair<std::size_t, const AddedToken*> nextAdded(std::string_view text, std::size_t from) const {
        std::pair<std::size_t, const AddedToken*> best{text.size(), nullptr};
        for (const AddedToken& token : added_) {
            // Not beyond the best one so far.
            const std::size_t most = std::min(text.size(), best.first + token.text.size());
            const std::size_t found = text.substr(0, most).find(token.text, from);
            if (found < best.first) best = {found, &token};
        }
        return best;
    }

    void encodePlain(std::string_view text, bool first, Memory& memory, std::vector<std::int32_t>& into) const {
        if (text.empty()) return;
        std::vector<QString> pieces{normalize_(QString::fromUtf8(text.data(), qsizetype(text.size())))};
        for (const Cut& cut : cuts_.steps) {
            std::vector<QString> cutPieces;
            for (std::size_t i = 0; i < pieces.size(); ++i) cut(pieces[i], first && i == 0, cutPieces);
            pieces = std::move(cutPieces);
        }
        for (const QString& piece : pieces) {
            std::string spelled = piece.toStdString();
            if (cuts_.spellsBytes) {
                std::string bytes;
                for (const char c : spelled) bytes += byteCharacters()[static_cast<unsigned char>(c)];
                spelled = std::move(bytes);
            }
            if (const auto known = memory.find(spelled); known != memory.end()) {
                into.insert(into.end(), known->second.begin(), known->second.end());
                continue;
            }
            const std::size_t begin = into.size();
            bpe_.encode(spelled, into);
            if (memory.size() < kMostRemembered && spelled.size() < 64)
                memory.emplace(std::move(spelled), std::vector(into.begin() + std::ptrdiff_t(begin), into.end()));
        }
    }

    Normalize normalize_;
    PreTokenizer cuts_;
    Bpe bpe_;
    std::vector<AddedToken> added_; ///< the longest first
    std::vector<std::int32_t> before_, after_;
    std::vector<std::string> texts_; ///< of each id
    std::int32_t size_ = 0;
};

} // namespace

Result<std::shared_ptr<const Tokenizer>> parseTokenizer(std::string_view text, const std::string& path) {
    const std::string place = escapeForPeople(path, 200);
    const auto tree = readJsonTree(text, kMostTokenizer);
    if (!tree) return fail(fmt::format("{} {}.", place, tree.error().message), path);
    auto made = BpeTokenizer::read(*tree);
    if (!made) return fail(fmt::format("{} {}.", place, made.error().message), path);
    return made;
}

Result<std::shared_ptr<const Tokenizer>> tokenizerOf(const Model& model) {
    const auto folder =
        model.folder.empty() ? std::filesystem::path(model.path).parent_path() : std::filesystem::path(model.folder);
    const std::string path = (folder / "tokenizer.json").string();
    const auto text = readCompanion(path, kMostTokenizer);
    if (!text) return tl::unexpected(text.error());
    return parseTokenizer(*text, path);
}

} // namespace qs::eval
