// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/evaluation_text.h"

#include "core/eval/tokenizer/text_file.h"
#include "core/eval/tokenizer/token_file.h"
#include "core/eval/tokenizer/tokenizer.h"
#include "core/report/report.h"

namespace qs::eval {

static std::optional<std::int32_t> firstToken(const Tokenizer& tokenizer) {
    const auto before = tokenizer.encode({}, Job());
    return before && before->size() == 1 ? std::optional(before->front()) : std::nullopt;
}

std::optional<std::int32_t> firstTokenOf(const Model& model) {
    const auto tokenizer = tokenizerOf(model);
    return tokenizer ? firstToken(**tokenizer) : std::nullopt;
}

std::vector<std::int32_t> inputsOf(const EvaluationText& text, std::size_t count, std::size_t context) {
    std::vector<std::int32_t> out(text.tokens.begin(), text.tokens.begin() + std::ptrdiff_t(count));
    if (text.first)
        for (std::size_t at = 0; at < count; at += context) out[at] = *text.first;
    return out;
}

Result<EvaluationText> textFromFile(const Model& model, const std::string& path, const Job& job) {
    const auto tokenizer = tokenizerOf(model);
    if (!tokenizer) return tl::unexpected(tokenizer.error());
    Result<std::vector<std::int32_t>> tokens;
    auto hash = readText(path, job, [&](std::string_view text) -> Result<void> {
        tokens = (*tokenizer)->encode(text, job);
        return tokens ? Result<void>() : tl::unexpected(tokens.error());
    });
    if (!hash) return tl::unexpected(hash.error());
    EvaluationText out{path, std::move(*hash), std::move(*tokens)};
    out.first = firstToken(**tokenizer), out.tokenizer = (*tokenizer)->path();
    if (const auto frame = (*tokenizer)->encode({}, job); frame && frame->size() == 2)
        out.frame.emplace(frame->front(), frame->back());
    return out;
}

Result<EvaluationText> textFromTokens(const std::string& path, const Job& job) {
    auto tokens = readTokens(path);
    if (!tokens) return tl::unexpected(tokens.error());
    auto hash = sha256OfFile(path, job);
    if (!hash) return tl::unexpected(hash.error());
    return EvaluationText{path, std::move(*hash), std::move(*tokens)};
}

} // namespace qs::eval
