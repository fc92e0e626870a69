// SPDX-License-Identifier: GPL-3.0-or-later
// Checkpoints with one fault each, made in code, and correct ones.
#include "made_audit.h"
#include "tests/support/test_program.h"

class AuditTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void registry();
    void clean();
    void cleanDistributions();
    void notFinite();
    void channels();
    void scalesAreNoChannels();
    void duplicates();
    void elementType();
    void memory();
    void labels();
    void labelsOfMethods();
    void cancelled();
    void report();
};

void AuditTest::registry() {
    std::set<std::string> ids;
    for (const AuditCheck& check : auditChecks()) {
        QVERIFY(ids.insert(check.id).second && check.find);
        QVERIFY(std::strlen(check.title) > 0 && std::strlen(check.summary) > 20);
    }
    QVERIFY(ids.size() >= 8);
}

/// An audit of the sample model must find nothing.
void AuditTest::clean() {
    const auto model = openModel(QS_SOURCE_DIR "/resources/samples/tiny-llama");
    QVERIFY(model.has_value());
    SAME(*model, Set{});
    for (const char* file : {"normal", "laplace"}) {
        const auto golden = openModel(QS_TEST_DATA "/golden/" + std::string(file) + ".safetensors");
        QVERIFY(golden.has_value());
        const Set is = found(*golden); // integer codes are stored beside the values
        for (const auto& each : is)
            QVERIFY2(!each.starts_with("element_type") && !each.starts_with("column"), each.c_str());
    }
}

/// Shapes and distributions that are correct: uniform, Laplacian, few rows, convolutions, norms, 16-bit floats.
void AuditTest::cleanDistributions() {
    const QTemporaryDir folder;
    std::mt19937 random(5);
    std::uniform_real_distribution<float> even(-0.1f, 0.1f);
    std::exponential_distribution<float> tail(30);
    std::vector<float> flat(64 * 256), laplace(64 * 256), norm(256, 1.0f), bias(256, 0.0f), kernel(16 * 8 * 3 * 3);
    for (float& v : flat) v = even(random);
    for (float& v : laplace) v = tail(random) * (even(random) < 0 ? -1.0f : 1.0f);
    for (float& v : kernel) v = even(random);
    const auto weights = normal(128, 512, 1, 0.5f);
    auto sparse = normal(64, 256, 9), pruned = normal(64, 256, 10);
    for (std::size_t i = 0; i < sparse.size(); ++i) {
        if (i % 3 != 0) sparse[i] = 0; // no column is all zero, because 256 is not a multiple of 3
        if (std::fabs(pruned[i]) < 0.03f) pruned[i] = 0;
    }
    const auto model =
        opened(folder, {f32("flat", {64, 256}, flat), f32("laplace", {64, 256}, laplace), f32("norm", {256}, norm),
                        f32("norm2", {256}, norm), f32("bias", {256}, bias), f32("sparse", {64, 256}, sparse),
                        f32("pruned", {64, 256}, pruned), f32("conv", {16, 8, 3, 3}, kernel),
                        f32("one", {1, 512}, normal(1, 512, 8)), f32("empty", {0, 8}, {}), f32("scalar", {}, {1.5f}),
                        made("bf16", DType::BF16, {128, 512}, halves(weights, f32ToBf16)),
                        made("f16", DType::F16, {128, 512}, halves(normal(128, 512, 2), f32ToF16)),
                        made("mask", DType::U8, {16, 16}, std::vector<std::uint8_t>(256, 1))});
    SAME(model, Set{});
}

void AuditTest::notFinite() {
    const QTemporaryDir folder;
    auto values = normal(32, 64, 1);
    values[3 * 64 + 17] = std::numeric_limits<float>::quiet_NaN();
    values[9 * 64] = std::numeric_limits<float>::infinity();
    const auto model = opened(folder, {f32("w", {32, 64}, values), f32("clean", {32, 64}, normal(32, 64, 2))});
    SAME(model, Set{"not_finite w"});
    const auto result = auditModel(model, Job{});
    const auto& evidence = result->findings.front().evidence;
    QVERIFY2(evidence == "1 NaN and 1 Inf of 2048 values; the first at [3, 17]", evidence.c_str());
}

void AuditTest::channels() {
    const QTemporaryDir folder;
    auto values = normal(32, 64, 1);
    for (std::size_t i = 0; i < 64; ++i) values[5 * 64 + i] = 0, values[6 * 64 + i] = 0.5f;
    for (std::size_t row = 0; row < 32; ++row) values[row * 64 + 11] = 0;
    values[6 * 64 + 11] = 0.5f;
    auto column = normal(32, 64, 3);
    for (std::size_t row = 0; row < 32; ++row) column[row * 64 + 63] = 0;
    const auto model = opened(folder, {f32("rows", {32, 64}, values), f32("column", {32, 64}, column),
                                       f32("all", {4, 64}, std::vector<float>(256, 0.25f))});
    SAME(model, Set{"channels rows", "channels column", "channels all"});
    const auto result = auditModel(model, Job{});
    std::string all;
    for (const auto& finding : result->findings) all += finding.evidence + "\n";
    QVERIFY2(all.find("1 row of 32 all 0 (5); 1 row of 32 of one value (6)") != all.npos, all.c_str());
    QVERIFY2(all.find("1 column of 64 all 0 (63)") != all.npos, all.c_str());
    QVERIFY2(all.find("all 256 values are 0.25") != all.npos, all.c_str());
}

/// The scales of a row may be one value, as of a row with two equal blocks. They are no weights.
void AuditTest::scalesAreNoChannels() {
    const QTemporaryDir folder;
    auto values = normal(32, 256, 3);
    for (std::size_t r = 0; r < 32; r += 8) // both blocks of some rows are equal
        std::copy_n(values.begin() + std::ptrdiff_t(r * 256), 128, values.begin() + std::ptrdiff_t(r * 256 + 128));
    const auto model = opened(folder, {f32("x", {32, 256}, values)});
    QuantizeRequest request;
    request.spec = *parseSpec("int4:block=128"), request.layout = "native";
    request.output = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
    QVERIFY(quantizeModel(*model, request, Job{}));
    const auto written = openModel(request.output);
    QVERIFY(written);
    SAME(*written, Set{});
}

void AuditTest::duplicates() {
    const QTemporaryDir folder;
    const auto x = normal(32, 64, 1);
    auto almost = x;
    almost[100] = std::nextafter(almost[100], 1.0f);
    std::vector<std::uint8_t> bytes(4096);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::uint8_t(i * 7 + i / 64);
    const auto model =
        opened(folder, {f32("a", {32, 64}, x), f32("b", {32, 64}, x), f32("c", {32, 64}, almost), f32("d", {64, 32}, x),
                        made("u", DType::U8, {4096}, bytes), made("v", DType::U8, {4096}, bytes)});
    SAME(model, Set{"duplicate b", "duplicate v"});
}

/// BF16 values stored as F16, and the reverse.
void AuditTest::elementType() {
    const QTemporaryDir folder;
    const auto x = normal(64, 256, 1);
    const auto model = opened(folder, {made("bf16_as_f16", DType::F16, {64, 256}, halves(x, f32ToBf16)),
                                       made("f16_as_bf16", DType::BF16, {64, 256}, halves(x, f32ToF16)),
                                       made("f16", DType::F16, {64, 256}, halves(x, f32ToF16)),
                                       made("bf16", DType::BF16, {64, 256}, halves(normal(64, 256, 2), f32ToBf16))});
    SAME(model, Set{"element_type bf16_as_f16", "element_type f16_as_bf16"});
}

/// Pages already scanned are released, also for tensors read from the mapping.
void AuditTest::memory() {
    const QTemporaryDir folder;
    constexpr std::int64_t rows = 1024, columns = 1024; // 4 MiB each
    std::vector<TensorToWrite> tensors;
    for (int i = 0; i < 6; ++i)
        tensors.push_back(f32("w" + std::to_string(i), {rows, columns}, normal(rows, columns, unsigned(i))));
    tensors.push_back(made("bytes", DType::U8, {4 << 20}, std::vector<std::uint8_t>(4 << 20, 7)));
    const auto model = opened(folder, std::move(tensors));
    const auto resident = [&] { // KiB of the mapping in memory
        QFile maps(QStringLiteral("/proc/self/smaps"));
        if (!maps.open(QIODevice::ReadOnly)) return -1;
        const QByteArray all = maps.readAll();
        const auto* data = model->files.front().mapping->bytes().data();
        const auto begin = all.indexOf(QByteArray::number(qulonglong(data), 16) + "-");
        return begin < 0 ? -1 : all.mid(all.indexOf("Rss:", begin) + 4, 40).simplified().split(' ').first().toInt();
    };
    int most = 0;
    const Job job([&](const Progress&) { most = std::max(most, resident()); });
    QVERIFY(auditModel(model, job));
    QVERIFY2(most >= 0 && most <= 1024, qPrintable(QString::number(most))); // the kernel maps some pages around each
                                                                            // access
    QVERIFY(resident() <= 1024);
}

void AuditTest::labels() {
    const QTemporaryDir folder;
    const auto x = normal(32, 64, 1);
    SAME(opened(folder, {f32("w", {32, 64}, x)}, "model-Q4_K_M.safetensors"), Set{"label "});
    SAME(opened(folder, {f32("w", {32, 64}, x)}, "model-bf16.safetensors"), Set{"label "});
    SAME(opened(folder, {f32("w", {32, 64}, x)}, "model-f32.safetensors"), Set{});
    const auto config = [&](const char* text) {
        QFile file(folder.filePath(QStringLiteral("config.json")));
        if (!file.open(QIODevice::WriteOnly) || file.write(text) < 0) qFatal("no config");
    };
    const auto model = [&] { return opened(folder, {f32("w", {32, 64}, x)}, "model.safetensors"); };
    config(R"({"torch_dtype":"bfloat16"})");
    SAME(model(), Set{"label "});
    config(R"({"torch_dtype":"float32"})");
    SAME(model(), Set{});
    config(R"({"torch_dtype":"float32","quantization_config":{"quant_method":"gptq"}})");
    SAME(model(), Set{"label "});
    config("[1, not json");
    SAME(model(), Set{"label "});
}

/// Many programs store 8-bit floats with a scale for each row. Only a program that is known to store otherwise is wrong.
void AuditTest::labelsOfMethods() {
    const QTemporaryDir folder;
    std::vector<std::uint8_t> codes;
    std::vector<float> scales;
    std::mt19937 random(5);
    for (int i = 0; i < 64 * 64; ++i) codes.push_back(std::uint8_t(random() % 126 | (random() & 128)));
    for (int i = 0; i < 64; ++i) scales.push_back(1e-4f * float(1 + i % 7));
    for (const auto& [method, holds] : {std::pair("fbgemm_fp8", true),
                                        {"modelopt", true},
                                        {"quark", true},
                                        {"fp8", true},
                                        {"auto-round", true},
                                        {"compressed-tensors", true},
                                        {"something_new", true},
                                        {"bitsandbytes", false},
                                        {"awq", false}}) {
        QFile file(folder.filePath(QStringLiteral("config.json")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray(R"({"quantization_config":{"quant_method":")") + method + R"("}})");
        file.close();
        const auto model =
            opened(folder, {made("l.weight", DType::F8_E4M3, {64, 64}, codes), f32("l.weight_scale", {64, 1}, scales)});
        QVERIFY2(model->tensors.front().derived, method);
        const Set is = found(model);
        QVERIFY2(is == (holds ? Set{} : Set{"label "}), (method + (": " + shown(is))).c_str());
    }
}

void AuditTest::cancelled() {
    const QTemporaryDir folder;
    const Job job;
    job.cancel();
    const auto result = auditModel(opened(folder, {f32("w", {32, 64}, normal(32, 64, 1))}), job);
    QVERIFY(!result && result.error().cancelled);
}

void AuditTest::report() {
    const QTemporaryDir folder;
    auto values = normal(32, 64, 1);
    values[0] = std::numeric_limits<float>::quiet_NaN();
    const auto model = opened(folder, {f32("w", {32, 64}, values)});
    const auto result = auditModel(model, Job{});
    const auto made = auditReport(*model, *result, "audit w", Job{});
    QVERIFY(made.has_value());
    QCOMPARE(findingsText(result->findings), std::string("1 fault"));
    const std::string& checks = made->sections.back().text; // checks without findings are listed too
    QVERIFY(checks.starts_with("NaN and Inf (fault), 1 finding: "));
    QVERIFY(checks.find("Duplicated tensors (note), nothing found: ") != checks.npos);
    for (const ReportWriter& writer : reportWriters()) {
        const auto text = writer.render(*made);
        QVERIFY2(text && !text->empty(), writer.id);
        if (writer.id == std::string("json")) QVERIFY(text->find(R"("check": "not_finite")") != text->npos);
    }
}

QS_TEST(AuditTest)
#include "audit_test.moc"
