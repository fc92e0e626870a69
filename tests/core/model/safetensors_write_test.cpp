// SPDX-License-Identifier: GPL-3.0-or-later
// Written files must equal those of the reference implementation, and no partial file may stay.
#include "core/model/mapped_file.h"
#include "core/model/model.h"
#include "core/model/safetensors/safetensors.h"
#include "made_file.h"
#include "tests/support/test_program.h"

#include <algorithm>

using namespace qs;

class SafetensorsWriteTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void bytesOfTheReference_data();
    void bytesOfTheReference();
    void metadata();
    void refused_data();
    void refused();
    void aHeaderOverTheCap();
    void ontoAnOpenedInput();
    void cancelled();
    void progress();
    void everyDtypeComesBack();

private:
    std::string out() const { return (folder_->path() + QStringLiteral("/out.safetensors")).toStdString(); }
    std::unique_ptr<QTemporaryDir> folder_;
};

namespace {

TensorToWrite made(std::string name, DType dtype, std::vector<std::int64_t> shape, std::size_t bytes,
                   std::byte fill = std::byte(1)) {
    return {std::move(name), dtype, std::move(shape), [bytes, fill](const TensorToWrite::Sink& sink) -> Result<void> {
                const std::vector<std::byte> data(bytes, fill);
                return sink(data);
            }};
}

std::vector<TensorToWrite> copyOf(const std::shared_ptr<const Model>& model) {
    std::vector<TensorToWrite> tensors;
    for (const auto& tensor : model->tensors)
        tensors.push_back({tensor.name, tensor.dtype, tensor.shape,
                           [model, &tensor](const TensorToWrite::Sink& sink) -> Result<void> {
                               const auto bytes = model->view(tensor)->bytes;
                               for (std::size_t i = 0; i < bytes.size(); i += 5) // in pieces of odd size
                                   if (auto given = sink(bytes.subspan(i, std::min<std::size_t>(5, bytes.size() - i)));
                                       !given)
                                       return given;
                               return {};
                           }});
    std::rotate(tensors.begin(), tensors.begin() + std::ptrdiff_t(tensors.size() / 3), tensors.end());
    return tensors;
}

} // namespace

void SafetensorsWriteTest::bytesOfTheReference_data() {
    QTest::addColumn<QString>("path");
    const QDir folder(QStringLiteral(QS_TEST_DATA "/safetensors"));
    const auto files = folder.entryList({QStringLiteral("*.safetensors")}, QDir::Files);
    QVERIFY(files.size() >= 12);
    for (const auto& name : files) QTest::newRow(qPrintable(name)) << folder.filePath(name);
}

void SafetensorsWriteTest::bytesOfTheReference() {
    QFETCH(QString, path);
    const auto model = openModel(path.toStdString());
    QVERIFY(model);
    const auto written = writeSafetensors(out(), copyOf(*model), (*model)->files[0].metadata, model->get(), Job());
    QVERIFY2(written, written ? "" : written.error().message.c_str());
    QCOMPARE(bytesOf(text(out())), bytesOf(path));
    QCOMPARE(*written, std::uint64_t(QFileInfo(path).size()));
}

void SafetensorsWriteTest::metadata() {
    QVERIFY(writeSafetensors(out(), {}, {{"b", "\"\x01\xc3\xa9"}, {"a", ""}, {"format", "mlx"}}, nullptr, Job()));
    const QByteArray json = "{\"__metadata__\":{\"a\":\"\",\"b\":\"\\\"\\u0001\xc3\xa9\",\"format\":\"pt\"}}";
    QVERIFY2(bytesOf(text(out())).mid(8).trimmed() == json, bytesOf(text(out())));
    QCOMPARE(bytesOf(text(out())).size() % 8, 0);
}

void SafetensorsWriteTest::refused_data() {
    QTest::addColumn<int>("which");
    QTest::addColumn<QString>("says");
    int row = 0;
    for (const char* says :
         {"tensor \"__metadata__\" cannot be written",
          "tensor \"\\x{ff}\" cannot be written: its name is not valid UTF-8", "two tensors would be called \"w\"",
          "tensor \"w\" cannot be written: [3] of F4 end inside a byte",
          "tensor \"w\" cannot be written: the shape [-1] is impossible",
          "the shape [4611686018427387904, 2] is impossible", "tensor \"w\" came with 3 bytes, but its shape takes 4",
          "tensor \"w\" came with 5 bytes, but its shape takes 4", "the source is gone"})
        QTest::addRow("%d", row) << row << QString::fromUtf8(says), ++row;
}

void SafetensorsWriteTest::refused() {
    QFETCH(int, which);
    QFETCH(QString, says);
    std::vector<TensorToWrite> cases[9];
    cases[0].push_back(made("__metadata__", DType::U8, {1}, 1));
    cases[1].push_back(made("\xff", DType::U8, {1}, 1));
    cases[2].push_back(made("w", DType::U8, {1}, 1));
    cases[2].push_back(made("w", DType::F32, {1}, 4));
    cases[3].push_back(made("w", DType::F4, {3}, 2));
    cases[4].push_back(made("w", DType::F32, {-1}, 4));
    cases[5].push_back(made("w", DType::F32, {std::int64_t(1) << 62, 2}, 4));
    cases[6].push_back(made("w", DType::F32, {1}, 3));
    cases[7].push_back(made("w", DType::F32, {1}, 5));
    cases[8].push_back(
        {"w", DType::F32, {1}, [](const TensorToWrite::Sink&) -> Result<void> { return fail("the source is gone"); }});
    const auto written = writeSafetensors(out(), cases[which], {}, nullptr, Job());
    QVERIFY(!written);
    QVERIFY2(text(written.error().message).contains(says) || which == 1, written.error().message.c_str());
    QCOMPARE(namesIn(folder_->path()), QStringList());
}

void SafetensorsWriteTest::aHeaderOverTheCap() {
    const auto written = writeSafetensors(out(), {}, {{"big", std::string(100'000'000, 'x')}}, nullptr, Job());
    QVERIFY(!written);
    QVERIFY2(text(written.error().message).contains(QStringLiteral("a header of more than 100000000 bytes")),
             written.error().message.c_str());
    QCOMPARE(namesIn(folder_->path()), QStringList());
}

void SafetensorsWriteTest::ontoAnOpenedInput() {
    const QByteArray before = smallFile("w", 'x');
    const QString path = put(folder_->path(), QStringLiteral("in.safetensors"), before);
    const auto model = *openModel(path.toStdString());
    const auto written = writeSafetensors(path.toStdString(), copyOf(model), {}, model.get(), Job());
    QVERIFY(!written);
    QVERIFY(text(written.error().message).contains(QStringLiteral("in.safetensors is open as the input")));
    QCOMPARE(bytesOf(path), before);
}

void SafetensorsWriteTest::cancelled() {
    put(folder_->path(), QStringLiteral("out.safetensors"), "old");
    const Job job;
    std::vector<TensorToWrite> tensors;
    tensors.push_back({"w", DType::U8, {2}, [&](const TensorToWrite::Sink& sink) -> Result<void> {
                           const std::byte one[1] = {};
                           if (auto given = sink(one); !given) return given;
                           job.cancel();
                           return sink(one);
                       }});
    const auto written = writeSafetensors(out(), tensors, {}, nullptr, job);
    QVERIFY(!written && written.error().cancelled);
    QCOMPARE(namesIn(folder_->path()), QStringList{QStringLiteral("out.safetensors")});
    QCOMPARE(bytesOf(text(out())), QByteArray("old"));
}

void SafetensorsWriteTest::progress() {
    std::vector<Progress> said;
    const Job job([&](const Progress& p) { said.push_back(p); });
    QVERIFY(writeSafetensors(out(), {made("a", DType::U8, {100}, 100), made("b", DType::U8, {300}, 300)}, {}, nullptr,
                             job));
    QVERIFY(said.size() >= 2);
    QCOMPARE(said[0].total, 400.0);
    QCOMPARE(said[1].done, 100.0);
    QCOMPARE(said[1].itemsTotal, 2u);
}

void SafetensorsWriteTest::everyDtypeComesBack() {
    std::vector<TensorToWrite> tensors;
    for (const auto& dtype : dtypes())
        tensors.push_back(made(dtype.id, dtype.dtype, {2, 4}, std::size_t(dtype.bits), std::byte(dtype.bits)));
    QVERIFY(writeSafetensors(out(), tensors, {}, nullptr, Job()));
    const auto model = *openModel(out());
    QCOMPARE(model->tensors.size(), dtypes().size());
    std::vector<TensorInfo> byOffset = model->tensors;
    std::sort(byOffset.begin(), byOffset.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
    for (std::size_t i = 1; i < byOffset.size(); ++i) QVERIFY(byOffset[i - 1].dtype > byOffset[i].dtype);
    for (const auto& tensor : model->tensors) {
        const auto view = model->view(tensor);
        QVERIFY(view);
        for (const auto byte : view->bytes) QCOMPARE(int(byte), info(tensor.dtype).bits);
    }
}

QS_TEST(SafetensorsWriteTest)
#include "safetensors_write_test.moc"
