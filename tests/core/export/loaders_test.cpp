// SPDX-License-Identifier: GPL-3.0-or-later
// The table of what foreign programs load, and what certificates say of it.
#include "core/export/loaders.h"
#include "tests/core/export/made_export.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <nlohmann/json.hpp>

using namespace qs;
using namespace qs::test;

class LoadersTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void rowsAreTrue();
    void certificateSaysItsCells_data();
    void certificateSaysItsCells();
    void quantizedModulesAreLayers();
    void cellsOfMixtures();
};

/// Every row names a layout and specs that exist, and every layout for other programs has rows.
void LoadersTest::rowsAreTrue() {
    for (const LoaderCell& cell : loaderCells()) {
        QVERIFY2(findLayout(cell.layout), cell.layout);
        QVERIFY2(parseSpec(cell.spec).has_value(), cell.spec);
        const auto rules = QString::fromLatin1(cell.second).split(QStringLiteral(", "), Qt::SkipEmptyParts);
        for (const QString& rule : rules)
            QVERIFY2(rule.endsWith(QStringLiteral("keep")) || parseSpec(rule.toStdString()).has_value(), cell.second);
        QCOMPARE(*cell.reason == '\0', cell.loading == Loading::Loads);
        QCOMPARE(*cell.measure != '\0', cell.loading == Loading::Loads);
    }
    for (const Layout& layout : layouts())
        if (layout.config) QVERIFY2(hasLoader(layout.id), layout.id);
    QVERIFY(!hasLoader("native"));
    QVERIFY(*loadersTested() != '\0');
}

/// A cell says nothing of a mixture, or of layers that stay, if it was measured without them.
void LoadersTest::cellsOfMixtures() {
    const auto says = [](const char* layout, const ExportedSpecs& exported) {
        return std::string(loadersResult(loaderCellsOf("llama", layout, exported)));
    };
    QCOMPARE(says("llm-int8", {{"int8"}, false, {}}), std::string("loads"));
    QCOMPARE(says("llm-int8", {{"int8"}, false, {"q_proj=keep"}}), std::string("loads"));
    QCOMPARE(says("bnb", {{"nf4"}, false, {}}), std::string("loads"));
    QCOMPARE(says("bnb", {{"nf4"}, true, {}}), std::string("loads"));
    QCOMPARE(says("bnb", {{"nf4"}, false, {"q_proj=keep"}}), std::string("not tested"));
    QCOMPARE(says("mlx", {{"int4", "int8"}, true, {}}), says("mlx", {{"int4"}, false, {}}));
    QCOMPARE(says("compressed-tensors", {{"int4", "nvfp4"}, true, {}}), std::string("not tested"));
    QCOMPARE(says("compressed-tensors", {{"int8", "int4"}, true, {"refused=keep"}}), std::string("not tested"));
    QCOMPARE(says("gguf", {{"q8_0"}, true, {"q_proj=keep"}}), says("gguf", {{"q8_0"}, false, {}})); // no settings
    const ExportedSpecs experts{{"nf4"}, false, {"experts=keep"}};
    QCOMPARE(std::string(loadersResult(loaderCellsOf("qwen3_moe", "bnb", experts))), std::string("loads"));
}

void LoadersTest::certificateSaysItsCells_data() {
    QTest::addColumn<QString>("type");
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("result");
    QTest::newRow("a known family") << "llama"
                                    << "nf4:dialect=bnb"
                                    << "loads";
    QTest::newRow("another format") << "llama"
                                    << "fp4:dialect=bnb"
                                    << "not tested";
    QTest::newRow("another family") << "nobody"
                                    << "nf4:dialect=bnb"
                                    << "not tested";
}

void LoadersTest::certificateSaysItsCells() {
    QFETCH(QString, type);
    QFETCH(QString, spec);
    QFETCH(QString, result);
    const QTemporaryDir folder, outputs;
    QFile config(folder.filePath(QStringLiteral("config.json")));
    QVERIFY(config.open(QIODevice::WriteOnly));
    config.write(QStringLiteral(R"({"model_type": "%1"})").arg(type).toUtf8());
    config.close();
    const auto model = sample(folder);
    const auto out = outputs.filePath(QStringLiteral("out"));
    auto asked = request(spec.toLatin1().data(), "bnb", out);
    asked.choice = {}; // a filter would leave something as it is
    const auto done = exportModel(*model, asked, Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    const auto json = nlohmann::json::parse(certificateText(done->certificate));
    const auto& said = json.at("loaders");
    QCOMPARE(QString::fromStdString(said.at("architecture").get<std::string>()), type);
    QCOMPARE(QString::fromStdString(said.at("result").get<std::string>()), result);
    QCOMPARE(said.at("cells").empty(), result == QStringLiteral("not tested"));
    const bool isSaid = std::ranges::any_of(done->written.warnings, [](const std::string& sentence) {
        return sentence.starts_with("No program was tried with");
    });
    QCOMPARE(isSaid, result == QStringLiteral("not tested"));
    for (const auto& cell : said.at("cells")) {
        QVERIFY(cell.at("kl").get<double>() < 1e-3);
        QVERIFY(cell.at("programs").get<std::string>().find("bitsandbytes 0.") != std::string::npos);
    }
    const auto own = exportModel(*model, request("int8", "native", outputs.filePath(QStringLiteral("native"))), Job{});
    QVERIFY2(own.has_value(), own ? "" : own.error().message.c_str());
    QVERIFY(!nlohmann::json::parse(certificateText(own->certificate)).contains("loaders"));
}

/// A loader makes quantized modules of layers. A matrix that a network multiplies by itself is no module, so its name does
/// not end with .weight, as that of the projector of Gemma 3.
void LoadersTest::quantizedModulesAreLayers() {
    std::size_t held = 0, parameters = 0;
    const QDir networks(QStringLiteral("tests/data/eval"));
    for (const QString& name : networks.entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
        const auto model = openModel(networks.filePath(name).toStdString());
        if (!model) continue; // only other files
        for (const Layout& layout : layouts())
            for (const TensorInfo& tensor : (*model)->tensors) {
                if (!layout.config || !layout.holds(tensor)) continue;
                ++held;
                QVERIFY2(tensor.name.ends_with(".weight"), qPrintable(name + QString::fromStdString(tensor.name)));
            }
        for (const TensorInfo& tensor : (*model)->tensors)
            parameters += tensor.shape.size() == 2 && !tensor.name.ends_with(".weight");
    }
    QVERIFY(held > 1000 && parameters > 0);
}

QS_TEST(LoadersTest)
#include "loaders_test.moc"
