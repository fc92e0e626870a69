// SPDX-License-Identifier: GPL-3.0-or-later
// GGUF models in several files: opened by any of them, and faults in single parts.
#include "core/model/model.h"
#include "made_gguf.h"
#include "tests/support/test_program.h"

#include <cstring>
#include <memory>

using namespace qs;

class GgufSplitTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void splitModels();
    void damagedParts();
    void aPartUnderAnotherName();

private:
    QString put(const QString& name, const QByteArray& bytes) { return ::put(folder_->path(), name, bytes); }
    std::unique_ptr<QTemporaryDir> folder_;
};

namespace {

constexpr auto kSplit = QS_TEST_DATA "/gguf/";

} // namespace

void GgufSplitTest::splitModels() {
    const auto part = [&](int n) { return QStringLiteral("split-0000%1-of-00003.gguf").arg(n); };
    for (int n = 1; n <= 3; ++n) put(part(n), bytesOf(QString::fromUtf8(kSplit) + part(n)));
    for (int n = 1; n <= 3; ++n) { // each part opens the whole model
        const auto model = openModel(folder_->filePath(part(n)).toStdString());
        QVERIFY2(model, model ? "" : model.error().message.c_str());
        QVERIFY2((*model)->warnings.empty(), (*model)->warnings.empty() ? "" : (*model)->warnings[0].c_str());
        QCOMPARE((*model)->files.size(), 3u);
        QCOMPARE((*model)->tensors.size(), 5u);
        QCOMPARE(text((*model)->title), QStringLiteral("split"));
        for (int i = 0; i < 5; ++i) {
            const auto* tensor = (*model)->find("blk." + std::to_string(i) + ".attn_q.weight");
            QVERIFY(tensor);
            float first = 0;
            std::memcpy(&first, (*model)->view(*tensor)->bytes.data(), 4);
            QCOMPARE(first, float(i + 1));
        }
    }
    QFile::remove(folder_->filePath(part(2)));
    const auto model = openModel(folder_->filePath(part(1)).toStdString());
    QVERIFY(model);
    QCOMPARE((*model)->tensors.size(), 3u);
    QCOMPARE((*model)->warnings.size(), 1u);
    QVERIFY(
        text((*model)->warnings[0]).contains(QStringLiteral("1 of 3 parts are missing; the first is \"") + part(2)));
    QCOMPARE((*model)->missing.files, std::vector<std::string>{part(2).toStdString()});
}

void GgufSplitTest::damagedParts() {
    const auto part = [&](int n) { return QStringLiteral("split-0000%1-of-00003.gguf").arg(n); };
    for (int n = 1; n <= 3; ++n) put(part(n), bytesOf(QString::fromUtf8(kSplit) + part(n)));
    put(part(2), "version https://git-lfs.github.com/spec/v1\n");
    auto model = openModel(folder_->filePath(part(1)).toStdString());
    QVERIFY(!model && text(model.error().message).contains(QStringLiteral("is a Git LFS pointer")));
    put(part(2), bytesOf(QString::fromUtf8(kSplit) + part(2)).left(200));
    model = openModel(folder_->filePath(part(1)).toStdString());
    QVERIFY(!model && text(model.error().message).contains(part(2)));
    put(part(2), bytesOf(QString::fromUtf8(kSplit) + part(3))); // the wrong part, so its tensor is there twice
    model = openModel(folder_->filePath(part(1)).toStdString());
    QVERIFY(model);
    QStringList all;
    for (const auto& warning : (*model)->warnings) all << text(warning);
    const QString said = all.join(u'\n');
    QVERIFY2(said.contains(QStringLiteral("says that it is part 3 of 3")), qPrintable(said));
    QVERIFY2(said.contains(QStringLiteral("split.tensors.count says 5")), qPrintable(said));
    QVERIFY2(said.contains(QStringLiteral("more than once")), qPrintable(said));
}

void GgufSplitTest::aPartUnderAnotherName() {
    const QString path =
        put(QStringLiteral("a.gguf"), bytesOf(QString::fromUtf8(kSplit) + QStringLiteral("split-00001-of-00003.gguf")));
    const auto model = openModel(path.toStdString());
    QVERIFY(model);
    QCOMPARE((*model)->tensors.size(), 2u);
    QCOMPARE((*model)->warnings.size(), 1u);
    QVERIFY(text((*model)->warnings[0])
                .contains(QStringLiteral("is part 1 of 3, but it is not called NAME-00001-of-00003.gguf")));
}

QS_TEST(GgufSplitTest)

#include "gguf_split_test.moc"
