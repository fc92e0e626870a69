// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/gguf_cuts.h"

#include "core/base/tensor_name.h"

#include <fmt/format.h>

namespace qs::eval {
namespace {

constexpr const char* kDigit = R"(\p{N})";
constexpr const char* kDigits = R"(\p{N}{1,3})";
constexpr const char* kAllDigits = R"(\p{N}+)";
constexpr const char* kThreeDigits = "[0-9][0-9][0-9]";
constexpr const char* kLine = R"([\r\n])";
constexpr const char* kByLine = R"([^\n]+|[\n]+)";
constexpr const char* kChineseJapanese = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+";
constexpr const char* kChineseKorean = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+";
constexpr const char* kWordsOfBloom = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+";

#define QS_DEEPSEEK_WORDS                                                                                              \
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+)"
#define QS_ANY_CASE_SUFFIX "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define QS_WORDS_BY_CASE                                                                                               \
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)" QS_ANY_CASE_SUFFIX "?|"          \
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)" QS_ANY_CASE_SUFFIX "?"

/// Latin, Greek, Cyrillic and other letters with small and capital forms.
constexpr const char* kCasedWords =
    "\\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373"
    "\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f"
    "\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77"
    "\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d"
    "\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4"
    "\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134"
    "\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3"
    "\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17"
    "\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2"
    "\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943]+";

const std::vector<GgufCuts>& rows() {
    static const std::vector<GgufCuts> all = {
        {{"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"},
         {"llama3"},
         true,
         true},
        {{"dbrx", "smaug-bpe", "chatglm-bpe"}, {"llama3"}},
        {{"glm4", "glm5"}, {"llama3"}, true},
        {{"minicpm5"},
         {kDigits,
          QS_ANY_CASE_SUFFIX R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
         true},
        {{"jais-2"},
         {QS_ANY_CASE_SUFFIX
          R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"}},
        {{"gpt-2", "phi-2", "jina-es", "jina-de", "jina-v1-en", "jina-v2-es", "jina-v2-de", "jina-v2-code", "gigachat",
          "a.x-4.0", "mellum", "modern-bert", "exaone4", "mpt", "olmo", "jais", "trillion", "granite-docling",
          "roberta-bpe"},
         {"gpt2"}},
        {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"},
         {kDigit, "gpt2"}},
        {{"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2"},
         {"qwen2"}},
        {{"laguna"}, {kByLine, "qwen2"}},
        {{"ufakzeka"}, {R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
        {{"seed-coder"},
         {QS_ANY_CASE_SUFFIX R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
        {{"exaone-moe"},
         {QS_ANY_CASE_SUFFIX
          R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"}},
        {{"qwen35"}, {"qwen35"}},
        {{"tekken"}, {"tekken"}, true, true},
        {{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, {"o200k"}},
        {{"granite-embed-multi-97m"}, {"o200k"}, true},
        {{"tiny_aya", "cohere2moe"}, {R"(\d{1,3}(?=(?:\d{3})*\b))", "o200k"}},
        {{"youtu"},
         {"[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-"
          "\u303f\ufe30-\ufe4f]+|"
          "[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
          QS_WORDS_BY_CASE R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
         true},
        {{"bailingmoe", "bailingmoe2", "llada-moe"}, {"bailing"}},
        {{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"},
         {kDigits, kChineseJapanese, QS_DEEPSEEK_WORDS R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
        {{"spark2_5"}, {kDigits, kChineseJapanese, QS_DEEPSEEK_WORDS R"(|[\r\n]|\s+(?!\S)|\s+)", kDigit}},
        {{"deepseek-llm"},
         {kLine, kCasedWords, "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+", R"(\s+$)",
          kChineseKorean, kAllDigits}},
        {{"deepseek-coder"}, {kLine, R"(\s?\p{L}+)", R"(\s?\p{P}+)", kChineseKorean, kDigit}},
        {{"poro-chat", "bloom", "gpt3-finnish"}, {kWordsOfBloom}},
        {{"viking"}, {kWordsOfBloom, kDigit}},
        {{"chameleon"},
         {"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", R"(([\t\n]|    |  ))", kDigit,
          R"([\p{P}!-/:-@\[-`{-~])", "gpt2"},
         false,
         true},
        {{"superbpe"}, {kAllDigits, R"((?=(\d{3})+(?!\d)))"}},
        {{"falcon"}, {R"([\p{P}\$\+<=>\^~\|`]+)", "gpt2", kThreeDigits}},
        {{"default", ""}, {R"([\p{P}\$\+<=>\^~\|]+)", "gpt2", kAllDigits, kThreeDigits}},
    };
    return all;
}

} // namespace

std::span<const GgufCuts> ggufCuts() { return rows(); }

Result<const GgufCuts*> ggufCutsOf(const std::string& name) {
    for (const GgufCuts& row : rows())
        for (const char* each : row.names)
            if (name == each) return &row;
    return fail(fmt::format("has the pre-tokenizer {} (tokenizer.ggml.pre), which is not known", quotedName(name)));
}

} // namespace qs::eval
