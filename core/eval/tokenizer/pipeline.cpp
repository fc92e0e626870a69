// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/pipeline.h"

#include "core/base/strict_json.h"
#include "core/eval/tokenizer/vocabulary.h"

#include <fmt/format.h>

namespace qs::eval {
namespace {

/// One text on its way through the parts.
class Run {
public:
    Run(const TokenizerParts& parts, bool places, const Job& job)
        : parts_(parts), job_(job), places_(places), scratch_(parts.model->scratch()) {}

    Result<void> text(std::string_view text) {
        for (const std::int32_t id : parts_.frame.before) put(id, {0, 0});
        std::size_t begin = 0;
        do {
            const auto found = parts_.raw.next(text, begin);
            if (auto done = raw(text.substr(begin, found.begin - begin), begin); !done) return done;
            if (found.token) put(found.token->id, {std::uint32_t(found.begin), std::uint32_t(found.end)});
            begin = found.token ? found.end : text.size();
        } while (begin < text.size());
        const auto end = std::uint32_t(text.size());
        for (const std::int32_t id : parts_.frame.after) put(id, {end, end});
        return {};
    }

    std::vector<std::int32_t> ids;
    std::vector<PlacedToken> placed;

private:
    void put(std::int32_t id, Place place) {
        if (places_)
            placed.push_back({id, place.begin, place.end});
        else
            ids.push_back(id);
    }

    /// A part without raw added tokens, which begins at this byte of the text.
    Result<void> raw(std::string_view part, std::size_t at) {
        if (part.empty()) return {};
        TrackedText text{std::string(part), {}};
        if (places_)
            for (std::size_t i = 0; i < part.size(); ++i)
                text.places.push_back({std::uint32_t(at + i), std::uint32_t(at + i + 1)});
        if (auto done = normalize(parts_.normalizers, text); !done) return done;
        const std::string_view whole = text.bytes;
        for (std::size_t begin = 0; begin < whole.size();) {
            const auto found = parts_.normalized.next(whole, begin);
            const auto piece = whole.substr(begin, found.begin - begin);
            if (auto done = cut(0, text, piece, at == 0 && begin == 0); !done) return done;
            if (found.token) put(found.token->id, placeOf(text, found.begin, found.end));
            begin = found.token ? found.end : whole.size();
        }
        return {};
    }

    static Place placeOf(const TrackedText& text, std::size_t begin, std::size_t end) {
        if (text.places.empty() || begin >= end) return {};
        return {text.places[begin].begin, text.places[end - 1].end};
    }

    /// A piece of `text` for the steps of the pre-tokenizer from `step` on.
    Result<void> cut(std::size_t step, const TrackedText& text, std::string_view piece, bool first) {
        if (piece.empty()) return {};
        if (step == parts_.cuts.steps.size()) return encode(text, piece);
        const Cut& how = parts_.cuts.steps[step];
        if (!how.pattern) {
            TrackedText next;
            Rewriter out(text, piece, next);
            how.rewrite(piece, first, out);
            return cut(step + 1, next, next.bytes, first);
        }
        Result<void> inner;
        auto outer = cutBy(how, piece, [&](std::string_view part) {
            if (inner) inner = cut(step + 1, text, part, first && part.data() == piece.data());
        });
        return outer ? inner : outer;
    }

    Result<void> encode(const TrackedText& text, std::string_view piece) {
        if ((++pieces_ & 0xFFF) == 0 && job_.cancelled()) return cancelledError();
        tokens_.clear();
        parts_.model->encode(piece, *scratch_, tokens_);
        if (!places_) {
            for (const Token& token : tokens_) ids.push_back(token.id);
            return {};
        }
        std::size_t at = std::size_t(piece.data() - text.bytes.data());
        for (const Token& token : tokens_) {
            put(token.id, placeOf(text, at, at + token.bytes));
            at += token.bytes;
        }
        return {};
    }

    const TokenizerParts& parts_;
    const Job& job_;
    bool places_;
    std::unique_ptr<SubwordModel::Scratch> scratch_;
    std::vector<Token> tokens_;
    std::size_t pieces_ = 0;
};

class Pipeline final : public Tokenizer {
public:
    explicit Pipeline(TokenizerParts parts) : parts_(std::move(parts)) {
        for (const auto* list : {&parts_.raw, &parts_.normalized})
            for (const AddedToken& token : list->tokens()) added_.emplace(token.id, &token);
    }
    std::int32_t size() const override { return parts_.size; }
    const std::string& path() const override { return parts_.path; }
    std::string bytesOf(std::int32_t id) const override {
        const auto added = added_.find(id);
        return added != added_.end() ? added->second->text : parts_.model->bytesOf(id);
    }
    std::string pieceOf(std::int32_t id) const override {
        const auto added = added_.find(id);
        return added != added_.end() ? added->second->text : parts_.model->vocabulary().tokenOf(id);
    }
    Result<std::vector<std::int32_t>> encode(std::string_view text, const Job& job) const override {
        if (auto fine = check(text, job); !fine) return tl::unexpected(fine.error());
        const PatternTime time(text.size());
        Run run(parts_, false, job);
        if (auto done = run.text(text); !done) return tl::unexpected(done.error());
        return std::move(run.ids);
    }
    Result<std::vector<PlacedToken>> encodePlaced(std::string_view text, const Job& job) const override {
        if (auto fine = check(text, job); !fine) return tl::unexpected(fine.error());
        if (text.size() > 0xFFFFFFFFu) return fail("The text has 4 GiB or more, too much for places in it.");
        const PatternTime time(text.size());
        Run run(parts_, true, job);
        if (auto done = run.text(text); !done) return tl::unexpected(done.error());
        return std::move(run.placed);
    }

private:
    static Result<void> check(std::string_view text, const Job& job) {
        if (job.cancelled()) return cancelledError();
        const std::size_t bad = invalidUtf8(text);
        if (bad != std::string_view::npos) return fail(fmt::format("The text is not UTF-8 (at byte {}).", bad));
        return {};
    }
    TokenizerParts parts_;
    std::unordered_map<std::int32_t, const AddedToken*> added_; ///< by id; the first of an id
};

} // namespace

std::shared_ptr<const Tokenizer> makeTokenizer(TokenizerParts parts) {
    return std::make_shared<Pipeline>(std::move(parts));
}

} // namespace qs::eval
