// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of exports in every layout. The tensor has 128 MiB as F32 in a sparse file; no layout may keep that much in
// memory.
#include "tests/app/cli/layout_case.h"
#include "tests/app/cli/peak.h"
#include "tests/core/model/made_gguf.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

using namespace clitest;

namespace {

constexpr qint64 kLargeColumns = 4096, kLargeRows = 8192;
constexpr std::int64_t kMost = 56 * kMiB; ///< in addition to the memory for a small tensor; less than 64 MiB, the size
                                          ///< in BF16

/// One case per layout, and specs whose scales need a whole tensor.
constexpr LayoutCase kCases[] = {{"eformer", "nf4:block=64"},
                                 {"eformer", "ternary"},
                                 {"native", "int4:sym=no:block=32"},
                                 {"native", "nf4:dialect=bnb:scaletype=u8dq"},
                                 {"plain", "nf4:block=64"},
                                 {"bnb", "nf4:dialect=bnb:scaletype=u8dq"},
                                 {"compressed-tensors", "nvfp4:dialect=ct"},
                                 {"compressed-tensors", "int4:dialect=ct:sym=no:block=32"},
                                 {"gptq", "int4:dialect=ct:block=32:scaletype=f16"},
                                 {"llm-int8", "int8:dialect=bnb"},
                                 {"mlx", "int4:sym=no:block=32:scaletype=bf16"},
                                 {"gguf", "q4_0"},
                                 {"hdf5", "nf4:block=64"},
                                 {"npz", "int8"}};

/// A sparse file with one matrix of zeros; "" if the file system does not support it.
QString sparse(const QString& folder, bool gguf, qint64 rows) {
    const QString path = folder + (gguf ? s("/model.gguf") : s("/model.safetensors"));
    const qint64 bytes = rows * kLargeColumns * 2;
    QByteArray head;
    if (gguf) {
        MadeGguf file;
        file.tensors = {{"a.up_proj.weight", {kLargeColumns, rows}, 30, 0}};
        head = file.bytes();
    } else {
        QByteArray header = "{\"a.up_proj.weight\":{\"dtype\":\"BF16\",\"shape\":[" + QByteArray::number(rows) + "," +
                            QByteArray::number(kLargeColumns) + "],\"data_offsets\":[0," + QByteArray::number(bytes) +
                            "]}}";
        while (header.size() % 8) header += ' ';
        const quint64 length = quint64(header.size());
        head = QByteArray(reinterpret_cast<const char*>(&length), 8) + header;
    }
    QDir().mkpath(folder);
    put(folder + s("/config.json"), R"({"model_type": "llama"})");
    if (put(path, head).isEmpty() || ::truncate(QFile::encodeName(path).constData(), head.size() + bytes) != 0)
        return {};
    return gguf ? path : folder;
}

} // namespace

class TestExportMemory : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyLayoutIsMeasured() {
        const char* without = layoutWithoutCase(kCases);
        QVERIFY2(!without, without);
    }

    void exported_data() {
        QTest::addColumn<QString>("layout");
        QTest::addColumn<QString>("spec");
        for (const LayoutCase& one : kCases)
            QTest::addRow("%s %s", one.layout, one.spec) << s(one.layout) << s(one.spec);
    }
    void exported() {
        if (kSanitized) QSKIP("the sanitizer's own memory is many times the program's");
        QFETCH(QString, layout);
        QFETCH(QString, spec);
        const bool gguf = layout == s("gguf");
        const char* ending = qs::findLayout(layout.toStdString())->fileEnding;
        QTemporaryDir folder;
        const auto peak = [&](const char* name, qint64 rows) {
            const QString model = sparse(folder.filePath(s(name)), gguf, rows);
            const QString out = folder.filePath(s(name) + s("-out")) + s(ending ? ending : "");
            if (model.isEmpty()) return Peak{};
            return peakOf({binary().toStdString(), "quantize", model.toStdString(), "--spec", spec.toStdString(),
                           "--layout", layout.toStdString(), "-o", out.toStdString()});
        };
        const Peak small = peak("small", 64), large = peak("large", kLargeRows);
        QCOMPARE(small.code, 0);
        QCOMPARE(large.code, 0);
        const std::int64_t taken = large.bytes - small.bytes;
        qInfo("%.1f MiB more than the %.1f MiB of a small tensor", double(taken) / kMiB, double(small.bytes) / kMiB);
        QVERIFY2(taken <= kMost, qPrintable(QString::number(double(taken) / kMiB)));
    }
};

QS_TEST(TestExportMemory)
#include "export_memory_test.moc"
