// SPDX-License-Identifier: GPL-3.0-or-later
// With very many tensors, small ones are made again for writing and for the proof. The bytes must equal those of an
// export with few tensors, which are kept. Also tests certificates and indexes that are written in pieces.
#include "core/export/export_plan.h"
#include "core/model/derived_tensor.h"
#include "tests/core/export/made_export.h"
#include "tests/support/test_program.h"

#include <QLocale>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace qs;
using namespace qs::test;

namespace {

constexpr int kMany = 1'100, kFew = 5; // more and fewer tensors than writeTaken() keeps

std::string nameOf(int i) { return fmt::format("layers.{}.up.weight", i); }

std::shared_ptr<const Model> model(const QTemporaryDir& folder, int tensors) {
    std::vector<TensorToWrite> all;
    for (int i = 0; i < tensors; ++i) {
        auto values = wavy(4 * 64);
        for (float& v : values) v *= 1 + float(i) * 0.01f;
        all.push_back(made(nameOf(i), DType::F32, {4, 64}, std::move(values)));
    }
    all.push_back(made("bias", DType::F32, {64}, wavy(64)));
    return opened(folder, std::move(all));
}

/// Changes the first byte of the first field of a tensor.
void flipByteOf(const QString& path, const std::string& name) {
    const ModelPart part{[&](std::string_view field) { return field.starts_with(name); }, [](auto) { return false; }};
    const auto model = openModel(path.toStdString(), {.part = &part});
    if (!model) qFatal("%s", model.error().message.c_str());
    if ((*model)->tensors.empty()) qFatal("%s is not in the file", name.c_str());
    const TensorInfo& tensor = (*model)->tensors.front();
    QFile file(path);
    const auto offset = tensor.derived ? tensor.derived->parts().front().offset : tensor.offset;
    if (!file.open(QIODevice::ReadWrite) || !file.seek(qint64(offset))) qFatal("no file");
    char byte = 0;
    file.getChar(&byte), file.seek(file.pos() - 1), file.putChar(char(byte ^ 1));
}

Exported exported(const Model& from, const char* layout, const char* spec, const QString& output) {
    auto done = exportModel(from, request(spec, layout, output), Job{});
    if (!done) qFatal("%s %s: %s", layout, spec, done.error().message.c_str());
    return std::move(*done);
}

QByteArray bytesOf(const Model& model, const TensorInfo& tensor) {
    const auto view = model.view(tensor);
    if (!view) qFatal("%s", view.error().message.c_str());
    QByteArray bytes(qsizetype(tensor.bytes), '\0');
    view->readInto(0, {reinterpret_cast<std::byte*>(bytes.data()), std::size_t(bytes.size())});
    return bytes;
}

} // namespace

class ManyTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void sameAsAmongFew_data() {
        QTest::addColumn<QString>("layout");
        QTest::addColumn<QString>("spec");
        QTest::addColumn<QString>("ending");
        for (const auto& [layout, spec, ending] :
             std::initializer_list<std::tuple<const char*, const char*, const char*>>{
                 {"eformer", "int8", ".safetensors"},
                 {"eformer", "nf4:block=64", ".safetensors"},
                 {"native", "int4:sym=no:block=32", ".safetensors"},
                 {"plain", "nf4:block=64", ".safetensors"},
                 {"mlx", "int4:sym=no:block=32:scaletype=bf16", ""},
                 {"npz", "int8", ".npz"}})
            QTest::addRow("%s %s", layout, spec)
                << QString::fromLatin1(layout) << QString::fromLatin1(spec) << QString::fromLatin1(ending);
    }
    void sameAsAmongFew() {
        QFETCH(QString, layout);
        QFETCH(QString, spec);
        QFETCH(QString, ending);
        QTemporaryDir ofMany, ofFew;
        const auto many = model(ofMany, kMany), few = model(ofFew, kFew);
        const QString outMany = ofMany.filePath(QStringLiteral("out") + ending),
                      outFew = ofFew.filePath(QStringLiteral("out") + ending);
        const auto manyDone = exported(*many, qPrintable(layout), qPrintable(spec), outMany);
        const auto fewDone = exported(*few, qPrintable(layout), qPrintable(spec), outFew);
        QCOMPARE(manyDone.written.quantizedTensors, std::uint64_t(kMany));
        QCOMPARE(manyDone.written.copiedTensors, std::uint64_t(1));
        QCOMPARE(manyDone.certificate.proof.quantized, std::uint64_t(kMany));
        QCOMPARE(manyDone.certificate.proof.equal, std::uint64_t(kMany));
        const auto inMany = openModel(outMany.toStdString()), inFew = openModel(outFew.toStdString());
        QVERIFY(inMany && inFew);
        for (const TensorInfo& tensor : (*inFew)->tensors) {
            const TensorInfo* same = (*inMany)->find(tensor.name);
            QVERIFY2(same, tensor.name.c_str());
            QVERIFY(same->dtype == tensor.dtype && same->shape == tensor.shape);
            QVERIFY2(bytesOf(**inMany, *same) == bytesOf(**inFew, tensor), tensor.name.c_str());
        }
        for (std::size_t i = 0; i < (*inFew)->files.size(); ++i)
            for (const auto& [key, value] : (*inFew)->files[i].metadata)
                if (key.starts_with("quantscope.") && key != "quantscope.config")
                    QVERIFY2((*inMany)->files[i].metadata.at(key) == value, key.c_str());
        const auto all = *manyDone.certificate.proof.tensors.all();
        const auto ofFewRows = *fewDone.certificate.proof.tensors.all();
        for (const TensorProof& one : ofFewRows) {
            const auto same =
                std::find_if(all.begin(), all.end(), [&](const TensorProof& other) { return other.name == one.name; });
            QVERIFY(same != all.end());
            QVERIFY(same->readAs == one.readAs.text() && same->specFull == one.specFull.text());
            QCOMPARE(same->bytesWritten, one.bytesWritten);
        }
    }

    /// The tensors are listed and proved some at a time.
    void provedInParts_data() {
        QTest::addColumn<QString>("layout");
        QTest::addColumn<QString>("spec");
        QTest::addColumn<QString>("output");
        QTest::newRow("a file") << QStringLiteral("eformer") << QStringLiteral("int8")
                                << QStringLiteral("out.safetensors");
        QTest::newRow("a folder") << QStringLiteral("native") << QStringLiteral("int4:sym=no:block=32")
                                  << QStringLiteral("out");
        QTest::newRow("layers of a convention")
            << QStringLiteral("llm-int8") << QStringLiteral("int8:dialect=bnb") << QStringLiteral("out");
        QTest::newRow("always listed whole")
            << QStringLiteral("npz") << QStringLiteral("int8") << QStringLiteral("out.npz");
    }
    void provedInParts() {
        QFETCH(QString, layout);
        QFETCH(QString, spec);
        QFETCH(QString, output);
        QTemporaryDir folder, out;
        const auto from = model(folder, kMany);
        auto asked = request(qPrintable(spec), qPrintable(layout), out.filePath(output));
        asked.prove = [&](const std::string& path, const WrittenModel& what,
                          const std::vector<LeftOut>&) -> Result<void> {
            const auto whole = prove(*from, what, path, Job{});
            if (!whole) return tl::unexpected(whole.error());
            const auto proof = prove(*from, what, path, Job{}, ProofRows::Kept, 100);
            if (!proof) return tl::unexpected(proof.error());
            if (proof->equal != std::uint64_t(kMany) || proof->copied != 1 || proof->tensors.size() != kMany + 1 ||
                proof->bytesWritten != whole->bytesWritten)
                return fail("not all tensors were proved");
            const QString written = QString::fromStdString(path);
            if (!output.endsWith(QStringLiteral("npz"))) // the archive has checksums
                flipByteOf(QFileInfo(written).isDir() ? written + QStringLiteral("/in.safetensors") : written,
                           nameOf(kMany - 1));
            const auto changed = prove(*from, what, path, Job{}, ProofRows::Kept, 100);
            return changed ? Result<void>() : tl::unexpected(changed.error());
        };
        const auto done = quantizeModel(*from, asked, Job{});
        if (layout == QStringLiteral("npz")) {
            QVERIFY2(done, done ? "" : done.error().message.c_str());
            return;
        }
        QVERIFY(!done);
        QVERIFY2(done.error().message.find("proof failed: tensor \"" + nameOf(kMany - 1) + "\"") != std::string::npos,
                 done.error().message.c_str());
    }

    /// The fields of a layer are in the same part, so that it is decoded as in the whole.
    void layersInParts() {
        QTemporaryDir folder;
        const auto from = model(folder, kMany);
        const QString out = folder.filePath(QStringLiteral("out"));
        QCOMPARE(exported(*from, "llm-int8", "int8:dialect=bnb", out).certificate.proof.equal, std::uint64_t(kMany));
        const auto whole = openModel(out.toStdString());
        QVERIFY(whole);
        const auto end = [](std::string_view name) { return name.find(".up.") - 1; };
        for (const char digit : std::string_view("0123456789")) {
            const ModelPart part{[&](std::string_view name) { return name == "bias" || name[end(name)] == digit; },
                                 [](std::string_view) { return true; }};
            const auto some = openModel(out.toStdString(), {.part = &part});
            QVERIFY(some);
            QCOMPARE((*some)->tensors.size(), std::size_t(kMany / 10 + 1));
            for (const TensorInfo& tensor : (*some)->tensors) {
                const TensorInfo* same = (*whole)->find(tensor.name);
                QVERIFY2(same && bool(same->derived) == bool(tensor.derived), tensor.name.c_str());
                QVERIFY(bytesOf(**some, tensor) == bytesOf(**whole, *same));
            }
        }
    }

    /// The plan says that a file would have too many tensors, offers a layout that has no limit, and so does the export.
    void tooManyForOneFile() {
        if (kThinning > 1) QSKIP("too many tensors for a sanitizer");
        const Layout& layout = *findLayout("hdf5");
        QTemporaryDir folder, out;
        std::vector<TensorToWrite> all;
        for (std::size_t i = 0; i <= layout.mostTensors / 2; ++i) // two fields each
            all.push_back(made(nameOf(int(i)), DType::F32, {1, 4}, std::vector<float>{1, 2, 3, 4}));
        const auto from = opened(folder, std::move(all));
        const auto asked =
            request("int8", layout.id, out.filePath(QStringLiteral("out") + QLatin1String(layout.fileEnding)));
        const std::string says = fmt::format("writes at most {} tensors", layout.mostTensors);
        const auto plan = planExport(*from, asked);
        QVERIFY(plan && plan->problem.find(says) != std::string::npos);
        QVERIFY(!plan->offers.empty() && plan->offers.front().layout && plan->offers.front().layout->mostTensors == 0);
        const auto done = exportModel(*from, asked, Job{});
        QVERIFY(!done && done.error().message.find(says) != std::string::npos);
        QCOMPARE(QDir(out.path()).entryList(QDir::Files | QDir::Hidden), QStringList());
        QFile page(QStringLiteral("docs/layouts.md"));
        QVERIFY(page.open(QIODevice::ReadOnly));
        const QString text = QString::fromUtf8(page.readAll());
        for (const Layout& one : layouts())
            if (one.mostTensors > 0)
                QVERIFY2(text.contains(QLocale(QLocale::English).toString(qulonglong(one.mostTensors))), one.id);
    }

    /// The text must equal that of the whole JSON tree.
    void certificateInPieces() {
        QTemporaryDir folder;
        const auto from = model(folder, kMany);
        auto certificate =
            exported(*from, "native", "nf4:block=64", folder.filePath(QStringLiteral("out.safetensors"))).certificate;
        auto rows = *certificate.proof.tensors.all();
        rows.front().reason = "it has \"tensors\": []\nin two lines";
        certificate.proof.tensors = {};
        for (const TensorProof& row : rows) certificate.proof.tensors.add(row);
        std::size_t pieces = 0;
        std::string text;
        QVERIFY(eachCertificatePiece(certificate, [&](std::string_view piece) {
            ++pieces, text += piece;
            return Result<void>();
        }));
        QVERIFY(text == certificateText(certificate));
        QVERIFY(text == nlohmann::ordered_json::parse(text).dump(1, ' ') + "\n");
        QCOMPARE(nlohmann::json::parse(text).at("tensors").size(), std::size_t(kMany + 1));
        text.clear();
        QVERIFY(eachCertificateRow(certificate, [&](std::string_view piece) {
            text += piece;
            return Result<void>();
        }));
        QCOMPARE(nlohmann::json::parse(text).size(), std::size_t(kMany + 1));
        certificate.proof.tensors = {};
        const std::string empty = certificateText(certificate);
        QVERIFY(empty == nlohmann::ordered_json::parse(empty).dump(1, ' ') + "\n");
        const auto named = [](int i) {
            TensorProof row;
            row.name = std::to_string(i), row.spec = "int8";
            return row;
        };
        for (int i = 0; i < 20'000; ++i) certificate.proof.tensors.add(named(i)); // some go to the file
        const ProofList copied = certificate.proof.tensors;
        certificate.proof.tensors.add(named(20'000));
        pieces = 0;
        QVERIFY(eachCertificatePiece(certificate, [&](std::string_view) { return ++pieces, Result<void>(); }));
        QVERIFY(pieces > 1);
        QCOMPARE(copied.size(), std::size_t(20'000));
        rows = *certificate.proof.tensors.all();
        QCOMPARE(rows.size(), std::size_t(20'001));
        for (std::size_t i = 0; i < rows.size(); ++i)
            QVERIFY(rows[i].name == std::to_string(i) && rows[i].spec == "int8");
    }

    /// The index of a folder must equal the text of the whole JSON tree.
    void indexOfShards() {
        QTemporaryDir folder;
        std::vector<TensorToWrite> first, second;
        for (int i = 0; i < 20; ++i)
            (i % 2 ? first : second).push_back(made(nameOf(i), DType::F32, {4, 64}, wavy(4 * 64)));
        for (const auto& [name, tensors] : {std::pair("model-00001-of-00002.safetensors", first),
                                            std::pair("model-00002-of-00002.safetensors", second)})
            QVERIFY(writeSafetensors(folder.filePath(QString::fromLatin1(name)).toStdString(), tensors, {}, nullptr,
                                     Job{}));
        const auto from = openModel(folder.path().toStdString());
        QVERIFY(from);
        QTemporaryDir out;
        const auto done = exported(**from, "eformer", "int8", out.filePath(QStringLiteral("folder")));
        QFile index(out.filePath(QStringLiteral("folder/model.safetensors.index.json")));
        QVERIFY(index.open(QIODevice::ReadOnly));
        const std::string text = index.readAll().toStdString();
        QVERIFY(text == nlohmann::ordered_json::parse(text).dump(2) + "\n");
        const auto json = nlohmann::json::parse(text);
        QCOMPARE(json.at("weight_map").size(), std::size_t(40));
        QCOMPARE(json.at("weight_map").at(nameOf(1) + ".scale").get<std::string>(),
                 std::string("model-00001-of-00002.safetensors"));
        const auto again = openModel(out.filePath(QStringLiteral("folder")).toStdString());
        QVERIFY(again);
        QCOMPARE((*again)->warnings.size(), std::size_t(0));
    }
};

QS_TEST(ManyTest)
#include "many_test.moc"
