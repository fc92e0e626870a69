// SPDX-License-Identifier: GPL-3.0-or-later
// Results of solvers through files; calibration inputs from files; codebooks shared by tensors.
#include "core/layouts/layout.h"
#include "core/solve/codebooks.h"
#include "core/solve/inputs.h"
#include "core/solve/solver.h"
#include "core/value/synthetic.h"
#include "kernels/small_float.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/test_program.h"

#include <cmath>
#include <random>

using namespace qs;
using namespace qs::solve;
using namespace qs::test;

namespace {

constexpr std::int64_t kRows = 24, kColumns = 80;
const std::string kQ = "layers.0.q_proj.weight", kQ1 = "layers.1.q_proj.weight", kV = "layers.0.v_proj.weight";

std::vector<float> normal(std::size_t n, unsigned seed, float scale) {
    std::mt19937 engine{seed};
    std::normal_distribution<float> draw(0, scale);
    std::vector<float> out(n);
    for (float& x : out) x = draw(engine);
    return out;
}

std::shared_ptr<const Model> layers(const QTemporaryDir& folder) {
    const auto layer = [](const std::string& name, unsigned seed, float scale) {
        return made(name, DType::F32, {kRows, kColumns}, normal(std::size_t(kRows * kColumns), seed, scale));
    };
    return opened(folder, {layer(kQ, 1, 0.1f), layer(kQ1, 2, 0.3f), layer(kV, 3, 0.2f)});
}

QuantizeRequest request(const QTemporaryDir& folder, const char* spec, const char* layout, const char* name) {
    return {*parseSpec(spec), {}, layout, folder.filePath(QString::fromLatin1(name)).toStdString()};
}

} // namespace

class SolveFiles : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void throughFiles_data();
    void throughFiles();
    void biasesOfTheTensorsType();
    void layoutsThatCannot();
    void inputs();
    void sharedCodebooks();
    void lies();
};

void SolveFiles::throughFiles_data() {
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("settings");
    for (const char* spec : {"int4:block=32", "nf4:block=32", "nvfp4", "int4:sym=no:calib=hqq:block=16:scaletype=f16",
                             "codebook:bits=3", "ternary:scale=channel", "int8:tile=0x8,1x16", "int8:scale=tensor"})
        for (const char* how : {"gptq", "gptq:order=act", "awq", "awq:clip=yes"}) {
            const QString title = QStringLiteral("%1 %2").arg(QLatin1String(spec), QLatin1String(how));
            QTest::newRow(qPrintable(title)) << QString::fromLatin1(spec) << QString::fromLatin1(how);
        }
}

/// Layout native, decoded again, and layout plain must give the solver's values bit for bit.
void SolveFiles::throughFiles() {
    QFETCH(QString, spec);
    QFETCH(QString, settings);
    const QTemporaryDir folder;
    const auto model = layers(folder);
    const Settings how = *parseSettings(settings.toStdString());
    const QByteArray specText = spec.toLatin1();
    auto native = request(folder, specText.constData(), "native", "native.safetensors");
    if (!findSolver(how.solver)->accepts(native.spec, how)) QSKIP("refused, with a reason");
    std::map<std::string, std::vector<float>> said;
    native.columnScales = findSolver(how.solver)->columnScales;
    native.solve = [&](const TensorView& view) -> Result<std::shared_ptr<const Solved>> {
        const auto x = value::syntheticInputs(96, kColumns, 1);
        auto solution = solve::solve({view, native.spec, how, x}, Job());
        if (!solution) return tl::unexpected(solution.error());
        said[view.info->name] = solution->weight;
        return solution->solved;
    };
    auto plain = native;
    plain.layout = "plain", plain.output = folder.filePath(QStringLiteral("plain.safetensors")).toStdString();
    for (const auto& asked : {native, plain}) {
        const auto written = quantizeModel(*model, asked, Job());
        QVERIFY2(written, written ? "" : written.error().message.c_str());
    }
    const std::string back = folder.filePath(QStringLiteral("back.safetensors")).toStdString();
    const auto decoded = dequantizeModel(**openModel(native.output), {}, back, Job());
    QVERIFY2(decoded, decoded ? "" : decoded.error().message.c_str());
    for (const std::string& path : {plain.output, back}) {
        const auto file = *openModel(path);
        QCOMPARE(said.size(), std::size_t(3));
        for (const auto& [name, values] : said) QVERIFY2(valuesOf<float>(*file, name) == values, path.c_str());
    }
}

/// scaletype=input: solvers compute in f32, but scales and biases have the dtype of the tensor.
void SolveFiles::biasesOfTheTensorsType() {
    const QTemporaryDir folder;
    std::vector<std::uint16_t> halves;
    for (const float x : normal(8 * 64, 3, 0.05f)) halves.push_back(f32ToF16(x + 0.01f));
    const auto model = opened(folder, {made("a.weight", DType::F16, {8, 64}, halves)});
    for (const char* settings : {"gptq", "gptq:order=act", "awq", "awq:clip=yes"}) {
        const Settings how = *parseSettings(settings);
        auto native = request(folder, "int3:dialect=mlx:block=32", "native", "native.safetensors");
        native.columnScales = findSolver(how.solver)->columnScales;
        std::vector<float> said;
        native.solve = [&](const TensorView& view) -> Result<std::shared_ptr<const Solved>> {
            const auto x = value::syntheticInputs(96, 64, 1);
            auto solution = solve::solve({view, native.spec, how, x}, Job());
            if (!solution) return tl::unexpected(solution.error());
            said = solution->weight;
            return solution->solved;
        };
        const auto written = quantizeModel(*model, native, Job());
        QVERIFY2(written, written ? "" : written.error().message.c_str());
        const auto fields = *openSafetensors(native.output);
        QVERIFY(fields->find("a.weight.scale")->dtype == DType::F16 &&
                fields->find("a.weight.bias")->dtype == DType::F16);
        const std::string back = folder.filePath(QStringLiteral("back.safetensors")).toStdString();
        QVERIFY(dequantizeModel(**openModel(native.output), {}, back, Job()));
        std::vector<std::uint16_t> expected;
        for (const float x : said) expected.push_back(f32ToF16(x));
        QVERIFY2(valuesOf<std::uint16_t>(**openModel(back), "a.weight") == expected, settings);
    }
}

void SolveFiles::layoutsThatCannot() {
    const QTemporaryDir folder;
    const auto model = layers(folder);
    auto asked = request(folder, "int8", "eformer", "out.safetensors");
    asked.columnScales = true;
    asked.solve = [](const TensorView&) -> Result<std::shared_ptr<const Solved>> { return fail("not asked"); };
    const auto written = quantizeModel(*model, asked, Job());
    QVERIFY(!written && written.error().message.find("native") != std::string::npos);
    QVERIFY(!QFile::exists(QString::fromStdString(asked.output)));
}

void SolveFiles::inputs() {
    const QTemporaryDir folder;
    const auto model = layers(folder);
    const auto x = normal(std::size_t(5 * 7 * kColumns), 9, 1);
    std::vector<float> weights(std::size_t(kColumns), 2.0f), none(std::size_t(kColumns), 0.0f);
    const auto file =
        opened(folder,
               {made(kQ, DType::F32, {5, 7, kColumns}, x), made("layers.1.q_proj", DType::F32, {kColumns}, weights),
                made(kV, DType::F32, {kColumns, 2}, normal(std::size_t(2 * kColumns), 1, 1))},
               "x.safetensors");
    const auto some = inputsOf(file.get(), *model->find(kQ));
    QVERIFY(some.has_value());
    QCOMPARE(some->shape, (value::Shape{35, kColumns}));
    QVERIFY(std::equal(some->values.begin(), some->values.end(), x.begin()));
    QVERIFY(!inputsOf(file.get(), *model->find(kQ1))); // weights are not inputs
    QVERIFY(!inputsOf(file.get(), *model->find(kV)));  // another last axis
    QCOMPARE(inputsOf(nullptr, *model->find(kV))->shape, (value::Shape{512, kColumns}));
    const auto mean = columnWeightsOf(*file, *model->find(kQ));
    QVERIFY(mean && *mean);
    double square = 0;
    for (std::size_t i = 0; i < 35; ++i) square += double(x[i * kColumns + 3]) * double(x[i * kColumns + 3]) / 35;
    QVERIFY(std::fabs(double((**mean)[3]) / square - 1) < 1e-6);
    QVERIFY(**columnWeightsOf(*file, *model->find(kQ1)) == weights);
    QVERIFY(!columnWeightsOf(*file, *model->find(kV)));
    const auto empty = opened(folder, {made(kV, DType::F32, {kColumns}, none)}, "none.safetensors");
    QVERIFY(!columnWeightsOf(*empty, *model->find(kV)));
    QVERIFY(!*columnWeightsOf(*empty, *model->find(kQ)));
}

void SolveFiles::sharedCodebooks() {
    const QTemporaryDir folder;
    const auto model = layers(folder);
    const QuantSpec spec = *parseSpec("codebook:bits=4:scale=none");
    const std::vector<const TensorInfo*> all = {model->find(kQ), model->find(kQ1), model->find(kV)};
    const auto learned = [&](Share share, const Model* activations = nullptr) {
        auto books = learnCodebooks(*model, all, spec, share, activations, Job());
        if (!books) qFatal("%s", books.error().message.c_str());
        return *books;
    };
    auto own = learned(Share::Tensor), role = learned(Share::Role), whole = learned(Share::Model);
    for (const TensorInfo* tensor : all)
        QVERIFY(own.at(tensor)->levels == (*levelsOf(*model->view(*tensor), spec, Job()))->levels);
    QVERIFY(role.at(all[0]) == role.at(all[1]) && role.at(all[0]) != role.at(all[2]));
    QVERIFY(whole.at(all[0]) == whole.at(all[2]));
    QVERIFY(role.at(all[2])->levels == own.at(all[2])->levels);
    // For all values together, the shared codebook has no more error than any codebook learned from a part.
    const auto error = [&](const LearnedLevels& levels) {
        double sum = 0;
        for (const TensorInfo* tensor : all)
            for (const float x : valuesOf<float>(*model, tensor->name)) {
                double least = 1e9;
                for (const float level : levels.levels) least = std::min(least, std::fabs(double(level) - double(x)));
                sum += least * least;
            }
        return sum;
    };
    for (const TensorInfo* tensor : all) QVERIFY(error(*whole.at(all[0])) <= error(*own.at(tensor)) * 1.0001);

    // Into a file: every tensor has the same codebook, and decoded values are its levels.
    auto asked = request(folder, "codebook:bits=4:scale=none", "native", "shared.safetensors");
    asked.solve = [&](const TensorView& view) -> Result<std::shared_ptr<const Solved>> {
        auto solved = std::make_shared<Solved>();
        solved->levels = whole.at(view.info);
        return std::shared_ptr<const Solved>(solved);
    };
    QVERIFY(quantizeModel(*model, asked, Job()).has_value());
    const auto file = *openModel(asked.output);
    QVERIFY(valuesOf<float>(*file, kQ + ".codebook") == valuesOf<float>(*file, kV + ".codebook"));
    QVERIFY(valuesOf<float>(*file, kQ + ".codebook") == whole.at(all[0])->levels);
    const std::string back = folder.filePath(QStringLiteral("back.safetensors")).toStdString();
    QVERIFY(dequantizeModel(*file, {}, back, Job()).has_value());
    const auto& levels = whole.at(all[0])->levels;
    for (const float x : valuesOf<float>(**openModel(back), kV))
        QVERIFY(std::binary_search(levels.begin(), levels.end(), x));

    // Column weights change the learned levels.
    std::vector<float> weights(std::size_t(kColumns), 0.0f);
    weights[7] = 1;
    const auto inputs = opened(folder, {made(kV, DType::F32, {kColumns}, weights)}, "weights.safetensors");
    const auto weighted = learned(Share::Tensor, inputs.get());
    QVERIFY(weighted.at(all[0])->levels == own.at(all[0])->levels);
    QVERIFY(weighted.at(all[2])->levels != own.at(all[2])->levels);
}

/// Metadata that declares column scales which are missing or have another size.
void SolveFiles::lies() {
    const QTemporaryDir folder;
    for (const int size : {0, 7}) {
        std::vector<TensorToWrite> tensors = {made("w.codes", DType::U8, {2, 4}, std::vector<std::uint8_t>(8)),
                                              made("w.scale", DType::F32, {2, 1}, std::vector<float>(2, 1.0f))};
        if (size)
            tensors.push_back(made("w.column_scale", DType::F32, {size}, std::vector<float>(std::size_t(size), 1.0f)));
        const std::string path = folder.filePath(QStringLiteral("lie.safetensors")).toStdString();
        const std::map<std::string, std::string> metadata = {
            {"quantscope.w", R"({"spec":"int4","shape":[2,8],"dtype":"F32","layout":"native","column_scale":true})"}};
        QVERIFY(writeSafetensors(path, std::move(tensors), metadata, nullptr, Job()).has_value());
        const auto done = dequantizeModel(**openModel(path), {},
                                          folder.filePath(QStringLiteral("o.safetensors")).toStdString(), Job());
        QVERIFY(!done && done.error().message.find("w.column_scale") != std::string::npos);
    }
}

QS_TEST(SolveFiles)
#include "solve_files_test.moc"
