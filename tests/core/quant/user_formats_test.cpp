// SPDX-License-Identifier: GPL-3.0-or-later
// Codebooks of the user: saved, read, refused, and written so that other programs can decode them.

#include "core/layouts/layout.h"
#include "core/quant/codebook/user_formats.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

using namespace qs;
using namespace qs::test;

class UserFormats : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::string path(const char* name) const { return folder_.filePath(QString::fromLatin1(name)).toStdString(); }
    std::string write(const char* name, const QByteArray& text) const {
        QFile file(folder_.filePath(QString::fromLatin1(name)));
        if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size()) qFatal("cannot write");
        return path(name);
    }

private Q_SLOTS:
    void savedAndKnown();
    void hostileFiles_data();
    void hostileFiles();
    void aFolder();
    void decodedElsewhere();
};

void UserFormats::savedAndKnown() {
    QVERIFY(!parseSpec("mine5"));
    const UserFormat mine{"mine5", "Mine", "by hand", {-1, -0.4f, 0, 0.3f, 1}};
    const auto saved = saveUserFormat(mine, path("kept"));
    QVERIFY2(saved, saved ? "" : saved.error().message.c_str());
    const auto spec = parseSpec("mine5:block=32");
    QVERIFY(spec);
    QCOMPARE(spec->codeBits(), 3u);
    QCOMPARE(specText(*spec), std::string("mine5:block=32"));
    const auto read = readUserFormat(*saved);
    QVERIFY(read);
    QCOMPARE(read->levels, mine.levels);
    QVERIFY(addUserFormat(*read)); // the same again
    UserFormat other = mine;
    other.levels[1] = -0.5f;
    QVERIFY(!saveUserFormat(other, path("kept")));
    other.id = "nf4";
    QVERIFY(!saveUserFormat(other, path("kept")));
    const TensorInfo info{"w", DType::F32, false, nullptr, 0, {1, 4}, 4, 16, 0};
    const std::vector<float> x = {2, -0.9f, 0.62f, 0.1f};
    const auto quantized = quantizeTensor({&info, std::as_bytes(std::span(x)), nullptr}, *spec, Job());
    QCOMPARE(materialize(*quantized), (std::vector<float>{2, -0.8f, 0.6f, 0}));
}

void UserFormats::hostileFiles_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QByteArray& text, const char* says) {
        QTest::newRow(name) << text << QString::fromLatin1(says);
    };
    const QByteArray good = R"({"version":1,"id":"bad","levels":)";
    row("empty", "", "is not JSON");
    row("a list", "[1]", "not a JSON object");
    row("deep", QByteArray(30000, '['), "nested too deeply");
    row("cut off", good + "[-1,0", "is not JSON");
    row("twice", R"({"version":1,"id":"bad","id":"bad","levels":[-1,0,1]})", "twice");
    row("another version", R"({"version":2,"id":"bad","levels":[-1,0,1]})", "version");
    row("no levels", R"({"version":1,"id":"bad"})", "levels");
    row("two levels", good + "[-1,1]}", "3 to 256");
    row("257 levels", good + "[" + QByteArray("0,").repeated(256) + "1]}", "3 to 256");
    row("text for a level", good + R"([-1,"0",1]})", "number");
    row("not ascending", good + "[-1,0.5,0.5]}", "ascend");
    row("too large", good + "[-1,0,1e30]}", "1e6");
    row("beyond f32", good + "[-1,0,1e99]}", "1e6");
    row("another id", R"({"version":1,"id":"good","levels":[-1,0,1]})", "good.json");
    row("a path for an id", R"({"version":1,"id":"../bad","levels":[-1,0,1]})", "id");
    row("a spec for an id", R"({"version":1,"id":"bad:block=2","levels":[-1,0,1]})", "id");
    row("a control character", "{\"version\":1,\"id\":\"b\\u001b[2J\",\"levels\":[-1,0,1]}", "id");
    row("long", QByteArray(70000, ' '), "longer than 65536 bytes");
}
void UserFormats::hostileFiles() {
    QFETCH(QByteArray, text);
    QFETCH(QString, says);
    const auto read = readUserFormat(write("bad.json", text));
    QVERIFY(!read);
    const auto sentence = QString::fromStdString(read.error().message);
    QVERIFY2(sentence.contains(says), qPrintable(sentence));
    QVERIFY(sentence.size() < 500 && !sentence.contains(QChar(27)));
}

void UserFormats::aFolder() {
    QVERIFY(loadUserFormats(path("nothing here")).empty());
    QVERIFY(QDir().mkdir(folder_.filePath(QStringLiteral("some"))));
    write("some/fine3.json", R"({"version":1,"id":"fine3","levels":[-1,0,1]})");
    write("some/int8.json", R"({"version":1,"id":"int8","levels":[-1,0,1]})");
    write("some/broken.json", "{");
    write("some/other.txt", "{");
    const auto problems = loadUserFormats(path("some"));
    QCOMPARE(problems.size(), std::size_t(2));
    QVERIFY(parseSpec("fine3"));
}

/// Stored as a codebook, with its levels beside the codes.
void UserFormats::decodedElsewhere() {
    QVERIFY(addUserFormat({"away6", "", "", {-1, -0.5f, -0.1f, 0.2f, 0.6f, 1}}));
    std::vector<float> x;
    for (int i = 0; i < 90; ++i) x.push_back(float(i * 37 % 91) / 45 - 1);
    const auto model = opened(folder_, {made("w", DType::F32, {3, 30}, x)});
    QuantizeRequest request;
    request.spec = *parseSpec("away6:block=10"), request.layout = "native", request.output = path("out.safetensors");
    QVERIFY(quantizeModel(*model, request, Job()));
    const auto stored = openModel(request.output);
    QVERIFY((*stored)->files[0].metadata.at("quantscope.w").find("\"codebook:block=10:bits=3\"") != std::string::npos);
    QVERIFY(dequantizeModel(**stored, std::nullopt, path("back.safetensors"), Job()));
    const auto view = model->view(*model->find("w"));
    QCOMPARE(valuesOf<float>(**openModel(path("back.safetensors")), "w"),
             materialize(*quantizeTensor(*view, request.spec, Job())));
    std::uint64_t bytes = 0;
    for (const auto& tensor : (*stored)->tensors) bytes += tensor.bytes;
    const std::vector<std::int64_t> shape = {3, 30};
    QCOMPARE(storedSize(request.spec, shape, DType::F32)->total(), bytes);
}

QS_TEST(UserFormats)
#include "user_formats_test.moc"
