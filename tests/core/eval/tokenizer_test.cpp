// SPDX-License-Identifier: GPL-3.0-or-later
// Token ids against those of the tokenizers package (tests/data/eval/make_tokens.py).
#include "core/eval/tokenizer/token_file.h"
#include "core/eval/tokenizer/tokenizer.h"
#include "core/model/model.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <nlohmann/json.hpp>

using namespace qs;
using namespace qs::eval;
using nlohmann::json;

namespace {

const QString kTokenizers = QStringLiteral("tests/data/eval/tokenizers/");

std::string textOf(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) qFatal("%s is missing", qPrintable(path));
    return file.readAll().toStdString();
}

} // namespace

class TokenizerTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void idsAreThoseOfThePackage_data();
    void idsAreThoseOfThePackage();
    void theSamplesTokensAreItsBytes();
    void bytesOfTokensMakeTheText_data() { idsAreThoseOfThePackage_data(); }
    void bytesOfTokensMakeTheText();
    void unknownPartsAreRefusedByName();
    void damagedFilesAreRefused();
    void aPatternThatExplodesEndsWithASentence();
    void manySlowMatchesEndWithASentence();
    void linksOutOfTheFolder();
    void tokenFiles();
};

void TokenizerTest::idsAreThoseOfThePackage_data() {
    QTest::addColumn<QString>("kind");
    for (const QString& name : QDir(kTokenizers).entryList({QStringLiteral("*.ids.json")}))
        QTest::newRow(qPrintable(name.section(QLatin1Char('.'), 0, 0))) << name.section(QLatin1Char('.'), 0, 0);
}

void TokenizerTest::idsAreThoseOfThePackage() {
    QFETCH(QString, kind);
    const auto tokenizer = parseTokenizer(textOf(kTokenizers + kind + QStringLiteral(".json")), "tokenizer.json");
    QVERIFY2(tokenizer, tokenizer ? "" : tokenizer.error().message.c_str());
    const json texts = json::parse(textOf(kTokenizers + QStringLiteral("texts.json")));
    const json expected = json::parse(textOf(kTokenizers + kind + QStringLiteral(".ids.json")));
    QCOMPARE(texts.size(), expected.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto ids = (*tokenizer)->encode(texts[i].get<std::string>(), Job());
        QVERIFY(ids);
        QVERIFY2(json(*ids) == expected[i],
                 (texts[i].dump() + "\n" + json(*ids).dump() + "\n" + expected[i].dump()).c_str());
    }
}

void TokenizerTest::theSamplesTokensAreItsBytes() {
    const auto model = openModel("resources/samples/tiny-llama");
    QVERIFY(model);
    const auto tokenizer = tokenizerOf(**model);
    QVERIFY2(tokenizer, tokenizer ? "" : tokenizer.error().message.c_str());
    QCOMPARE((*tokenizer)->size(), 256);
    const std::string text = textOf(QStringLiteral("resources/samples/tiny-llama/heldout.txt"));
    const auto ids = (*tokenizer)->encode(text, Job());
    QVERIFY(ids);
    QCOMPARE(ids->size(), text.size());
    for (std::size_t i = 0; i < text.size(); ++i)
        QCOMPARE((*ids)[i], std::int32_t(static_cast<unsigned char>(text[i])));
    QVERIFY(!(*tokenizer)->encode("\xff", Job()));
}

void TokenizerTest::bytesOfTokensMakeTheText() {
    QFETCH(QString, kind);
    const auto tokenizer = parseTokenizer(textOf(kTokenizers + kind + QStringLiteral(".json")), "tokenizer.json");
    QVERIFY(tokenizer);
    const std::string text = "Hello, z\u00fcrich \u65e5\u672c \U0001F642 12ab";
    const auto ids = (*tokenizer)->encode(text, Job());
    QVERIFY(ids);
    std::string together;
    for (const auto id : *ids) together += (*tokenizer)->bytesOf(id);
    for (const std::string added : {"<s>", " "}) // what the tokenizer puts before a text
        if (together.size() > text.size() && together.starts_with(added)) together.erase(0, added.size());
    QCOMPARE(together, text);
    QVERIFY((*tokenizer)->bytesOf(-1).empty());
    QVERIFY((*tokenizer)->bytesOf((*tokenizer)->size()).empty());
}

void TokenizerTest::unknownPartsAreRefusedByName() {
    const json whole = json::parse(textOf(kTokenizers + QStringLiteral("gpt2.json")));
    const auto refusal = [&](const char* key, const json& part) {
        json changed = whole;
        changed[key] = part;
        const auto made = parseTokenizer(changed.dump(), "t.json");
        return made ? QString() : QString::fromStdString(made.error().message);
    };
    QVERIFY(refusal("normalizer", {{"type", "Sorcery"}}).contains(QLatin1String("\"Sorcery\"")));
    QVERIFY(refusal("pre_tokenizer", {{"type", "Sorcery"}}).contains(QLatin1String("\"Sorcery\"")));
    QVERIFY(refusal("post_processor", {{"type", "Sorcery"}}).contains(QLatin1String("\"Sorcery\"")));
    QVERIFY(refusal("model", {{"type", "Sorcery"}}).contains(QLatin1String("\"Sorcery\"")));
    QVERIFY(refusal("pre_tokenizer", {{"type", "Split"}, {"behavior", "Isolated"}, {"pattern", {{"Regex", "("}}}})
                .contains(QLatin1String("no regular expression")));
    // Two engines would read these in two ways.
    for (const auto& [pattern, why] :
         {std::pair("[\\p{L}&&[^\\p{Han}]]+", "(&&)"), std::pair("[a[bc]]", "a class within"),
          std::pair("\\h+", "hexadecimal"), std::pair("(?m:a.b)", "(?m)")})
        QVERIFY2(
            refusal("pre_tokenizer", {{"type", "Split"}, {"behavior", "Isolated"}, {"pattern", {{"Regex", pattern}}}})
                .contains(QLatin1String(why)),
            pattern);
    for (const char* fine : {"[\\[\\]&]+", "[[:alpha:]]+", "[]a]", "a&&b"})
        QCOMPARE(
            refusal("pre_tokenizer", {{"type", "Split"}, {"behavior", "Isolated"}, {"pattern", {{"Regex", fine}}}}),
            QString());
}

void TokenizerTest::damagedFilesAreRefused() {
    const std::string whole = textOf(kTokenizers + QStringLiteral("llama2.json"));
    for (std::size_t length : {std::size_t(0), std::size_t(1), whole.size() / 2, whole.size() - 1})
        QVERIFY(!parseTokenizer(whole.substr(0, length), "t.json"));
    QVERIFY(!parseTokenizer("[]", "t.json"));
    QVERIFY(!parseTokenizer("{}", "t.json"));
    QVERIFY(!parseTokenizer(R"({"model":{"vocab":{"a":-1},"merges":[]}})", "t.json"));
    QVERIFY(!parseTokenizer(R"({"model":{"vocab":{"a":0},"merges":["a b"]}})", "t.json"));
    QVERIFY(!parseTokenizer(std::string(100000, '['), "t.json"));
    const auto refused = [](const char* text, const char* why) {
        const auto made = parseTokenizer(text, "t.json");
        return !made && QString::fromStdString(made.error().message).contains(QLatin1String(why));
    };
    QVERIFY(refused(R"({"model":{"vocab":{"a":0,"b":0},"merges":[]}})", "gives the id 0"));
    QVERIFY(refused(R"({"model":{"vocab":{"a":9999999},"merges":[]}})", "has the id 9999999 among 1 tokens"));
    QVERIFY(refused(R"({"model":{"vocab":{"a":0},"merges":["a "]}})", "has the merge 0"));
    QVERIFY(refused(R"({"model":{"vocab":{"a":0,"aa":1},"merges":["a a"]},"added_tokens":[{"id":0,"content":"x"}]})",
                    "gives the id 0"));
    QVERIFY(refused(R"({"model":{"type":"Unigram","unk_id":7,"vocab":[["a",-1.0]]}})", "unknown token 7"));
    QVERIFY(refused(R"({"model":{"type":"WordPiece","vocab":{"a":0}}})", "no unknown token"));
    QVERIFY(refused(R"({"normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAA"}})", "cut short"));
}

void TokenizerTest::aPatternThatExplodesEndsWithASentence() {
    json tree = json::parse(textOf(kTokenizers + QStringLiteral("gpt2.json")));
    tree["pre_tokenizer"] = {{"type", "Split"}, {"behavior", "Isolated"}, {"pattern", {{"Regex", "^(a+)+$"}}}};
    const auto tokenizer = parseTokenizer(tree.dump(), "t.json");
    QVERIFY(tokenizer);
    const auto ids = (*tokenizer)->encode(std::string(5000, 'a') + "c", Job());
    QVERIFY(!ids);
    QVERIFY2(QString::fromStdString(ids.error().message).contains(QLatin1String("steps")), ids.error().message.c_str());
}

/// Each match stays below the limit of steps; there are very many of them.
void TokenizerTest::manySlowMatchesEndWithASentence() {
    json tree = json::parse(textOf(kTokenizers + QStringLiteral("gpt2.json")));
    const json slow = {{"type", "Split"}, {"behavior", "Isolated"}, {"pattern", {{"Regex", "(a+)+$|a{18}b"}}}};
    const json words = {{"type", "Split"}, {"behavior", "Removed"}, {"pattern", {{"Regex", " +"}}}};
    std::string text;
    for (int i = 0; i < 15'000; ++i) text += "aaaaaaaaaaaaaaaaaab ";
    for (const json& steps : {json::array({slow}), json::array({words, slow})}) { // the limit is one for all pieces
        tree["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", steps}};
        const auto tokenizer = parseTokenizer(tree.dump(), "t.json");
        QVERIFY2(tokenizer, tokenizer ? "" : tokenizer.error().message.c_str());
        const auto ids = (*tokenizer)->encode(text, Job());
        QVERIFY(!ids);
        QVERIFY2(
            QString::fromStdString(ids.error().message).contains(QLatin1String("takes more than 3.2 s on this text")),
            ids.error().message.c_str());
    }
}

void TokenizerTest::linksOutOfTheFolder() {
    QTemporaryDir dir, other;
    const QString secret = other.filePath(QStringLiteral("secret.json"));
    QVERIFY(QFile::copy(kTokenizers + QStringLiteral("gpt2.json"), secret));
    Model model;
    model.folder = dir.path().toStdString();
    for (const char* name : {"tokenizer.model", "tokenizer.json"}) {
        QVERIFY(QFile::link(secret, dir.filePath(QLatin1String(name))));
        const auto tokenizer = tokenizerOf(model);
        QVERIFY(!tokenizer);
        QVERIFY2(QString::fromStdString(tokenizer.error().message).contains(QLatin1String("out of the model's folder")),
                 tokenizer.error().message.c_str());
    }
}

void TokenizerTest::tokenFiles() {
    QTemporaryDir dir;
    const auto read = [&](const char* text) {
        QFile file(dir.filePath(QStringLiteral("t.txt")));
        if (!file.open(QIODevice::WriteOnly)) qFatal("no file");
        file.write(text);
        file.close();
        return readTokens(file.fileName().toStdString());
    };
    const auto tokens = read("1 2,3\n\t40000 ");
    QVERIFY(tokens);
    QCOMPARE(*tokens, (std::vector<std::int32_t>{1, 2, 3, 40000}));
    for (const char* bad : {"", " \n", "1 x", "-1", "1.5", "99999999999", "1;2", "\x93NUMPY"})
        QVERIFY2(!read(bad), bad);
    QVERIFY(!readTokens(dir.filePath(QStringLiteral("none")).toStdString()));
}

QS_TEST(TokenizerTest)
#include "tokenizer_test.moc"
