// SPDX-License-Identifier: GPL-3.0-or-later
// The figures and the base file of llama.cpp, against known answers by another program (make_llama_statistics.py).
#include "core/eval/files/base_logits.h"
#include "core/eval/run/base_reference.h"
#include "core/eval/scores/llama_statistics.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <cmath>

using namespace qs;
using namespace qs::eval;
using namespace qs::test;

namespace {

const QString kData = QStringLiteral("tests/data/eval/llama_statistics/");
constexpr std::size_t kVocabulary = 97, kContextSize = 16, kChunkCount = 16;

/// The numbers of the script.
class Generator {
public:
    explicit Generator(std::uint64_t seed) : state_(seed) {}
    std::uint32_t bits() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return std::uint32_t(state_ >> 40);
    }
    double value() { return (double(bits()) - 8388608.0) / 1048576.0; }

private:
    std::uint64_t state_;
};

std::vector<std::int32_t> tokens() {
    Generator generator(1);
    std::vector<std::int32_t> out(kContextSize * kChunkCount);
    for (auto& token : out) token = std::int32_t(generator.bits() % kVocabulary);
    return out;
}

struct Logits {
    std::vector<float> reference, other; ///< [rows, vocabulary]
};
constexpr std::size_t kRows = kChunkCount * (kContextSize - 1 - kContextSize / 2);

Logits logits() {
    Generator generator(2);
    Logits out;
    for (std::size_t row = 0; row < kRows; ++row) {
        const std::uint32_t number = generator.bits() % 16;
        const double factor = number == 0 ? 0.0 : number < 3 ? 2.5 : 0.25;
        for (std::size_t v = 0; v < kVocabulary; ++v) out.reference.push_back(float(generator.value() * factor));
        for (std::size_t v = 0; v < kVocabulary; ++v)
            out.other.push_back(float(double(out.reference[row * kVocabulary + v]) + generator.value() / 16));
    }
    return out;
}

std::span<const float> rowOf(const std::vector<float>& all, std::size_t row) {
    return std::span(all).subspan(row * kVocabulary, kVocabulary);
}

std::int32_t nextOf(const std::vector<std::int32_t>& all, std::size_t row) {
    constexpr std::size_t kScored = kContextSize - 1 - kContextSize / 2;
    return all[row / kScored * kContextSize + kContextSize / 2 + row % kScored + 1];
}

QString refusalOf(const QString& path) {
    const auto file = BaseFile::open(path.toStdString());
    return file ? QString() : QString::fromStdString(file.error().message);
}

} // namespace

class LlamaStatisticsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyPrintedDigit();
    void filesAreWrittenBitForBit();
    void filesAreReadBack();
    void codeZeroIsAFloor();
    void badFilesAreRefused_data();
    void badFilesAreRefused();
    void otherTextsAreRefused();
};

void LlamaStatisticsTest::everyPrintedDigit() {
    const auto file = BaseFile::open((kData + QStringLiteral("base.logits")).toStdString());
    QVERIFY(file);
    QCOMPARE(file->tokens(), tokens());
    const Logits all = logits();
    std::vector<float> base(kRows * kVocabulary);
    QVERIFY(file->read(0, kRows, base));
    LlamaStatistics statistics;
    for (std::size_t row = 0; row < kRows; ++row)
        statistics.add(scoreAsLlama(rowOf(base, row), rowOf(all.other, row), nextOf(tokens(), row)));
    QCOMPARE(QString::fromStdString(statistics.summary()),
             QString::fromUtf8(bytesOf(kData + QStringLiteral("expected.txt"))));
}

void LlamaStatisticsTest::filesAreWrittenBitForBit() {
    QTemporaryDir dir;
    const QString path = dir.filePath(QStringLiteral("written"));
    auto writer = BaseWriter::create(path.toStdString(), {kContextSize, kVocabulary, kChunkCount}, tokens());
    QVERIFY(writer);
    const Logits all = logits();
    QVERIFY(writer->add(std::span(all.reference).first(5 * kVocabulary)));
    QVERIFY(!writer->finish(Job())); // rows are missing
    QVERIFY(!QFile::exists(path));
    QVERIFY(writer->add(std::span(all.reference).subspan(5 * kVocabulary)));
    QVERIFY(writer->finish(Job()));
    QVERIFY(bytesOf(path) == bytesOf(kData + QStringLiteral("base.logits")));
    std::vector<float> bad(kVocabulary, std::nanf(""));
    QVERIFY(!writer->add(bad));
}

void LlamaStatisticsTest::filesAreReadBack() {
    const auto file = BaseFile::open((kData + QStringLiteral("base.logits")).toStdString());
    QVERIFY(file);
    const Logits all = logits();
    std::vector<float> base(kVocabulary);
    double worst = 0;
    for (std::size_t row = 0; row < kRows; ++row) {
        QVERIFY(file->read(row, 1, base));
        const auto score =
            scoreToken(base, rowOf(all.reference, row), nextOf(tokens(), row), ReferenceKind::LogProbabilities);
        QVERIFY(score.finite);
        worst = std::max(worst, std::fabs(score.divergence));
    }
    // The square of the rounding to 16 bits, and the next token, where it is cut.
    QVERIFY2(worst > 0 && worst < 2e-6, qPrintable(QString::number(worst)));
    const auto beyond = file->read(kRows, 1, base);
    QVERIFY(!beyond);
    QVERIFY(QString::fromStdString(beyond.error().message).contains(QStringLiteral("use --chunks 16 at most")));
}

void LlamaStatisticsTest::codeZeroIsAFloor() {
    const std::vector<float> wide = {30, 0, 0, 12}, narrow = {3, 0, 1, 2};
    std::vector<std::uint16_t> row(baseRowWords(4));
    std::vector<float> decoded(4);
    encodeBaseRow(wide, row);
    decodeBaseRow(row, 2, decoded);
    QVERIFY(std::isinf(decoded[1]) && decoded[1] < 0); // below the cut: not known
    QVERIFY(std::fabs(decoded[2] + 16) < 1e-3f);       // the token itself: at most the floor
    QVERIFY(std::isinf(decoded[3]));                   // 18 below the largest
    encodeBaseRow(narrow, row);
    decodeBaseRow(row, 2, decoded);
    QVERIFY(std::isfinite(decoded[1])); // the least of a row that was not cut
    // As ik_llama.cpp writes it: a cut at 24 nats, under the same magic.
    const float scale = 24.0f / 65535.0f, least = -24.0f;
    std::memcpy(row.data(), &scale, sizeof scale), std::memcpy(row.data() + 2, &least, sizeof least);
    row[4] = 65535, row[5] = 0, row[6] = 10, row[7] = 32768;
    decodeBaseRow(row, 0, decoded);
    QVERIFY(std::fabs(decoded[0]) < 1e-5f && std::isinf(decoded[1]) && std::isfinite(decoded[2]));
    QVERIFY(std::fabs(decoded[3] + 12) < 1e-3f);
}

void LlamaStatisticsTest::badFilesAreRefused_data() {
    QTest::addColumn<int>("offset");
    QTest::addColumn<QByteArray>("bytes"); ///< put at `offset`; none: the file is cut there
    QTest::addColumn<QString>("why");
    QTest::newRow("magic") << 0 << QByteArray("_LOGITS_") << QStringLiteral("does not begin with _logits_");
    QTest::newRow("short") << 12 << QByteArray() << QStringLiteral("shorter than its header");
    QTest::newRow("cut") << 20000 << QByteArray() << QStringLiteral("do not take its 20000 bytes");
    QTest::newRow("context") << 8 << QByteArray("\2\0\0\0", 4) << QStringLiteral("fewer than 3 tokens");
    QTest::newRow("no vocabulary") << 12 << QByteArray(4, '\0') << QStringLiteral("0 of vocabulary");
    QTest::newRow("huge") << 16 << QByteArray(4, '\x7f') << QStringLiteral("2139062143 chunks");
    QTest::newRow("token") << 20 << QByteArray(4, '\x61') << QStringLiteral("its token 1 is");
}

void LlamaStatisticsTest::badFilesAreRefused() {
    QFETCH(int, offset);
    QFETCH(QByteArray, bytes);
    QFETCH(QString, why);
    QByteArray file = bytesOf(kData + QStringLiteral("base.logits"));
    if (bytes.isEmpty())
        file.truncate(offset);
    else
        file.replace(offset, bytes.size(), bytes);
    QTemporaryDir dir;
    const QString path = dir.filePath(QStringLiteral("file"));
    put(path, file);
    const QString refusal = refusalOf(path);
    QVERIFY2(refusal.contains(why), qPrintable(refusal));
}

void LlamaStatisticsTest::otherTextsAreRefused() {
    auto file = BaseFile::open((kData + QStringLiteral("base.logits")).toStdString());
    QVERIFY(file);
    const auto base = std::make_shared<const BaseFile>(std::move(*file));
    const auto refusal = [&](EvaluationPlan plan) {
        const auto taken = takeReference(plan, base);
        return taken ? QString() : QString::fromStdString(taken.error().message);
    };
    EvaluationPlan plan;
    plan.context = kContextSize;
    QCOMPARE(refusal(plan), QString());
    plan.text.tokens = tokens();
    plan.text.tokens[20] += 1;
    QVERIFY(refusal(plan).contains(QStringLiteral("its token 21 is ")));
    plan.text.tokens = tokens();
    plan.context = 8;
    QVERIFY(refusal(plan).endsWith(QStringLiteral("was made with a context of 16 tokens, not 8: use --ctx 16.")));
    plan.context = kContextSize, plan.scored = Scored::All;
    QVERIFY(refusal(plan).contains(QStringLiteral("second half")));
}

QS_TEST(LlamaStatisticsTest)
#include "llama_statistics_test.moc"
