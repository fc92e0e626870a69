// SPDX-License-Identifier: GPL-3.0-or-later
// Token ids of many kinds of tokenizers over all code points and pseudo-random strings, against hashes of what the
// tokenizers and sentencepiece packages give (tests/data/eval/make_tokens.py makes the same texts).
#include "core/eval/run/report.h"
#include "core/eval/tokenizer/gguf_cuts.h"
#include "core/eval/tokenizer/sources.h"
#include "core/eval/tokenizer/unicode.h"
#include "core/model/model.h"
#include "core/report/report.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace qs;
using namespace qs::eval;
using nlohmann::json;

namespace {

using TokenizerPtr = std::shared_ptr<const Tokenizer>;
using Texts = std::vector<std::string>;

std::string fileText(const std::string& name) {
    QFile file(QStringLiteral("tests/data/eval/tokenizers/") + QString::fromStdString(name));
    if (!file.open(QIODevice::ReadOnly)) qFatal("%s is missing", name.c_str());
    return file.readAll().toStdString();
}

Texts codePoints(char32_t plane) {
    std::vector<char32_t> points;
    for (char32_t c = plane << 16; c < (plane + 1) << 16; ++c)
        if (c > 0 && !(c >= 0xD800 && c <= 0xDFFF)) points.push_back(c);
    Texts out;
    for (std::size_t i = 0; i < points.size(); i += 4096) {
        out.emplace_back();
        for (std::size_t j = i; j < std::min(i + 4096, points.size()); ++j) appendUtf8(points[j], out.back());
        if (plane >= 3 && plane != 14) break;
    }
    return out;
}

std::vector<Texts> randomTexts() {
    static constexpr char32_t kNear[] = {0x20,   0x0A,  0x0D,   0x09,   0x27,    0x73,  0x53,   0x17F,  0x301,
                                         0x300,  0x85,  0x2028, 0x200D, 0x1F642, 0x41,  0x61,   0x31,   0x39,
                                         0x4E00, 0x1C5, 0x2B0,  0x5D0,  0x2F,    0x130, 0xAC00, 0x1100, 0x1161,
                                         0x11A8, 0x323, 0x1E9B, 0xFB01, 0x212B,  0x3C,  0x3E};
    std::uint64_t state = 18;
    const auto below = [&](std::uint64_t most) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % most;
    };
    std::vector<Texts> out(4);
    for (std::size_t i = 0; i < 1000; ++i) {
        std::string text;
        for (std::uint64_t length = 1 + below(40); length > 0; --length)
            appendUtf8(below(4) ? kNear[below(std::size(kNear))] : char32_t(1 + below(0x2FFF)), text);
        out[i / 250].push_back(std::move(text));
    }
    return out;
}

const std::vector<Texts>& blocks() {
    static const std::vector<Texts> all = [] {
        std::vector<Texts> out;
        for (char32_t plane = 0; plane < 17; ++plane) out.push_back(codePoints(plane));
        for (Texts& texts : randomTexts()) out.push_back(std::move(texts));
        return out;
    }();
    return all;
}

/// FNV-1a of 64 bits over all ids as little-endian 32-bit numbers.
std::string hashOf(const Texts& texts, const Tokenizer& tokenizer, std::size_t skipped = 0) {
    std::uint64_t hash = 0xCBF29CE484222325u;
    for (const std::string& text : texts) {
        const auto ids = tokenizer.encode(text, Job());
        if (!ids) return ids.error().message;
        for (std::size_t i = skipped; i < ids->size(); ++i)
            for (unsigned shift = 0; shift < 32; shift += 8)
                hash = (hash ^ (std::uint32_t((*ids)[i]) >> shift & 0xFF)) * 0x100000001B3u;
    }
    return fmt::format("{:016x}", hash);
}

TokenizerPtr made(Result<TokenizerPtr> result) {
    if (!result) qFatal("%s", result.error().message.c_str());
    return *result;
}

TokenizerPtr variant(const json& row) {
    const auto base = row["base"].get<std::string>();
    if (base.starts_with("spm_")) return made(parseSentencePiece(fileText(base + ".model"), base, false, false));
    json tree = json::parse(fileText(base + ".json"));
    for (const auto& [key, value] : row["changes"].items()) tree[key] = value;
    return made(parseTokenizer(tree.dump(), base));
}

} // namespace

class TokenizerKindsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyKindGivesTheIdsOfThePackage_data();
    void everyKindGivesTheIdsOfThePackage();
    void marksOfTheEncodingStay_data() { everyKindGivesTheIdsOfThePackage_data(); }
    void marksOfTheEncodingStay();
    void ggufVocabulariesGiveTheIdsOfTheirSource();
    void ggufTextsAreCutAsTheirNameSays();
    void placesAreThoseOfTheText();
    void reportsNameTheFileOfTheTokenizer();
};

void TokenizerKindsTest::everyKindGivesTheIdsOfThePackage_data() {
    QTest::addColumn<int>("index");
    const json rows = json::parse(fileText("variants.json"));
    for (std::size_t i = 0; i < rows.size(); ++i) QTest::newRow(rows[i]["name"].get<std::string>().c_str()) << int(i);
}

void TokenizerKindsTest::everyKindGivesTheIdsOfThePackage() {
    QFETCH(int, index);
    static const json rows = json::parse(fileText("variants.json"));
    const json& row = rows[std::size_t(index)];
    const TokenizerPtr tokenizer = variant(row);
    QCOMPARE(row["hashes"].size(), blocks().size());
    for (std::size_t i = 0; i < blocks().size(); ++i) {
        if (!qs::test::taken(std::size_t(index) + i)) continue; // other blocks for each kind
        // PCRE2 takes U+180E for a space; the patterns that we know do not. An unknown pattern goes through PCRE2.
        if (row["name"] == "unknown" && i < 3) continue;
        QVERIFY2(hashOf(blocks()[i], *tokenizer) == row["hashes"][i].get<std::string>(),
                 fmt::format("block {}", i).c_str());
    }
}

// U+FEFF at the start of a text, and of what follows an added token, is a character like any other.
void TokenizerKindsTest::marksOfTheEncodingStay() {
    QFETCH(int, index);
    static const json rows = json::parse(fileText("variants.json"));
    const json& row = rows[std::size_t(index)];
    Texts texts;
    for (const std::string& text : blocks()[17])
        for (const char* mark : {"\xEF\xBB\xBF", "\xEF\xBB\xBF\xEF\xBB\xBF", "</s>\xEF\xBB\xBF"})
            texts.push_back(mark + text);
    QCOMPARE(hashOf(texts, *variant(row)), row["marked"].get<std::string>());
}

void TokenizerKindsTest::ggufVocabulariesGiveTheIdsOfTheirSource() {
    const std::string scored = fileText("spm_bpe.gguf"), bytes = fileText("smollm.gguf");
    const auto spm = made(parseGgufTokenizer(std::as_bytes(std::span(scored)), "spm_bpe.gguf"));
    const auto pieces = made(parseSentencePiece(fileText("spm_bpe.model"), "spm_bpe.model", false, false));
    const auto gpt2 = made(parseGgufTokenizer(std::as_bytes(std::span(bytes)), "smollm.gguf"));
    const auto smollm = made(parseTokenizer(fileText("smollm.json"), "smollm.json"));
    QCOMPARE(spm->size(), pieces->size());
    QCOMPARE(spm->encode("a", Job())->front(), 1); // llama.cpp puts the token for the begin before texts of this type
    for (const Texts& texts : blocks()) {
        QCOMPARE(hashOf(texts, *spm, 1), hashOf(texts, *pieces));
        QCOMPARE(hashOf(texts, *gpt2), hashOf(texts, *smollm));
    }
    // Tokens for control are text there.
    QVERIFY(gpt2->encode("<s>", Job())->size() > 1);
    QCOMPARE(smollm->encode("<s>", Job())->size(), std::size_t(1));
    for (std::size_t length : {std::size_t(0), std::size_t(23), scored.size() / 2, scored.size() - 40})
        QVERIFY(!parseGgufTokenizer(std::as_bytes(std::span(scored)).first(length), "cut.gguf"));
}

/// In this vocabulary every two bytes merge, so that ids show where a text was cut (tests/data/eval/make_cuts.py).
void TokenizerKindsTest::ggufTextsAreCutAsTheirNameSays() {
    const std::string file = fileText("pairs.gguf"), key = "tokenizer.ggml.pre";
    const std::size_t at = file.find(key) + key.size() + 4; // behind the type; there is a length of 8 bytes
    const auto named = [&](const std::string& name) {
        std::string out = file.substr(0, at);
        for (unsigned shift = 0; shift < 64; shift += 8) out += char(name.size() >> shift & 0xFF);
        return out + name + file.substr(at + 8 + std::string_view("gpt-2").size());
    };
    const json known = json::parse(fileText("cuts.json"));
    const Texts texts = known["texts"];
    std::size_t count = 0, turn = 0;
    for (const GgufCuts& row : ggufCuts())
        for (const std::string name : row.names) {
            count += !name.empty();
            if (!qs::test::taken(turn++)) continue;
            const std::string bytes = named(name);
            const auto tokenizer = made(parseGgufTokenizer(std::as_bytes(std::span(bytes)), name));
            const std::string expected = known["hashes"].value(name.empty() ? "default" : name, "");
            QVERIFY2(hashOf(texts, *tokenizer) == expected, name.c_str());
        }
    QCOMPARE(count, known["hashes"].size());
    const std::string other = named("kimi-k2");
    const auto refused = parseGgufTokenizer(std::as_bytes(std::span(other)), "t.gguf");
    QVERIFY(!refused && refused.error().message.find("\"kimi-k2\"") != std::string::npos);
}

void TokenizerKindsTest::placesAreThoseOfTheText() {
    const std::string text = "Hello, Z\u00fcrich e\u0301 \u65e5\u672c <s> 12ab";
    for (const char* name : {"gpt2", "llama3", "qwen2", "smollm"}) {
        const auto tokenizer = made(parseTokenizer(fileText(std::string(name) + ".json"), name));
        const auto placed = tokenizer->encodePlaced(text, Job());
        const auto ids = tokenizer->encode(text, Job());
        QVERIFY(placed && ids);
        QCOMPARE(placed->size(), ids->size());
        std::uint32_t end = 0;
        for (std::size_t i = 0; i < ids->size(); ++i) {
            const PlacedToken& token = (*placed)[i];
            QCOMPARE(token.id, (*ids)[i]);
            QVERIFY(token.begin <= token.end && token.end <= text.size());
            if (std::string_view(name) == "qwen2") continue; // NFC changes bytes
            QCOMPARE(token.begin, end);
            if (token.end > token.begin)
                QCOMPARE(tokenizer->bytesOf(token.id), text.substr(token.begin, token.end - token.begin));
            end = token.end;
        }
    }
}

void TokenizerKindsTest::reportsNameTheFileOfTheTokenizer() {
    QTemporaryDir folder;
    const auto at = [&](const char* name) { return folder.filePath(QString::fromLatin1(name)); };
    const QString tokenizers = QStringLiteral("tests/data/eval/tokenizers/");
    QVERIFY(QFile::copy(tokenizers + QStringLiteral("spm_bpe.model"), at("tokenizer.model")));
    QVERIFY(QFile::copy(QStringLiteral("tests/data/eval/llama/model.safetensors"), at("model.safetensors")));
    QVERIFY(QFile::copy(tokenizers + QStringLiteral("smollm.gguf"), at("smollm.gguf")));
    QFile text(at("text.txt"));
    QVERIFY(text.open(QIODevice::WriteOnly) && text.write("a text\n") == 7 && text.flush());
    for (const auto& [input, file] :
         {std::pair("model.safetensors", "tokenizer.model"), {"smollm.gguf", "smollm.gguf"}}) {
        const auto model = openModel(at(input).toStdString());
        QVERIFY2(model, model ? "" : model.error().message.c_str());
        auto read = textFromFile(**model, at("text.txt").toStdString(), Job());
        QVERIFY2(read, read ? "" : read.error().message.c_str());
        EvaluationPlan plan;
        plan.text = std::move(*read);
        const auto lines = evaluationProvenance(**model, plan, 1, "", Job());
        QVERIFY(lines);
        const auto has = [&](const char* key, const std::string& value) {
            return std::find(lines->begin(), lines->end(), std::pair(std::string(key), value)) != lines->end();
        };
        QVERIFY(has("tokenizer", at(file).toStdString()));
        QVERIFY(has("tokenizer_sha256", *sha256OfFile(at(file).toStdString())));
        QVERIFY(has("text_sha256", *sha256OfFile(at("text.txt").toStdString())));
    }
    EvaluationPlan ids; // no tokenizer made them
    ids.text.path = at("text.txt").toStdString();
    const auto model = openModel(at("model.safetensors").toStdString());
    const auto lines = evaluationProvenance(**model, ids, 1, "", Job());
    QVERIFY(lines && std::none_of(lines->begin(), lines->end(),
                                  [](const auto& line) { return line.first == "tokenizer_sha256"; }));
}

QS_TEST(TokenizerKindsTest)
#include "tokenizer_kinds_test.moc"
