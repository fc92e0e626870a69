// SPDX-License-Identifier: GPL-3.0-or-later
// Fields that one pass over a large tensor makes together must equal, byte for byte, the fields made by separate
// passes.
#include "core/layouts/model_fields.h"
#include "core/quant/encode/double_quant.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <algorithm>
#include <cmath>

using namespace qs;
using namespace qs::test;

namespace {

std::vector<float> wavy(std::size_t n) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = std::sin(float(i) * 0.37f) * (1.0f + float(i % 53) * 0.01f);
    return values;
}

using Bytes = std::vector<std::byte>;

Bytes alone(const TensorToWrite& field) {
    Bytes bytes;
    const auto done = field.produce([&](std::span<const std::byte> piece) -> Result<void> {
        bytes.insert(bytes.end(), piece.begin(), piece.end());
        return {};
    });
    if (!done) qFatal("%s", done.error().message.c_str());
    return bytes;
}

std::vector<Bytes> together(const std::vector<TensorToWrite>& fields) {
    std::vector<Bytes> all(fields.size());
    std::vector<ProducedTogether::Place> places;
    for (Bytes& bytes : all)
        places.push_back([&bytes](std::uint64_t offset, std::span<const std::byte> piece) -> Result<void> {
            if (bytes.size() < offset + piece.size()) bytes.resize(std::size_t(offset) + piece.size());
            std::copy(piece.begin(), piece.end(), bytes.begin() + std::ptrdiff_t(offset));
            return {};
        });
    const auto done = fields.front().together->produce(places);
    if (!done) qFatal("%s", done.error().message.c_str());
    return all;
}

} // namespace

class TogetherTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void asAlone_data() {
        QTest::addColumn<QString>("layout");
        QTest::addColumn<QString>("spec");
        QTest::addColumn<int>("rows");
        const std::tuple<const char*, const char*, int> cases[] = {
            {"eformer", "nf4:block=64", 800},
            {"eformer", "nf4:block=64:calib=absmax,0.9", 800},
            {"eformer", "int8", 800},
            {"native", "nf4:dialect=bnb:scaletype=u8dq", 800},
            {"native", "int3:sym=no:block=24:scaletype=bf16", 800},
            {"native", "nvfp4", 800},
            {"native", "int8:axis=0", 800},
            {"native", "int4:block=100", 800},
            {"bnb", "nf4:dialect=bnb", 801},
            {"bnb", "fp4:dialect=bnb:block=128:scaletype=u8dq", 801},
            {"compressed-tensors", "int4:dialect=ct:sym=no:block=32", 805},
            {"compressed-tensors", "int3:dialect=ct:sym=no:block=32:scaletype=f16", 805},
            {"compressed-tensors", "nvfp4:dialect=ct", 805},
            {"compressed-tensors", "int8:dialect=ct:scale=channel:sym=no", 805},
            {"compressed-tensors", "fp8_e4m3:tile=0x32,1x32", 832},
            {"llm-int8", "int8:dialect=bnb", 800},
            {"mlx", "int4:sym=no:block=32:scaletype=bf16", 805},
            {"gptq", "int4:dialect=ct:block=32:scaletype=f16", 832},
            {"gptq", "int3:dialect=ct:sym=no:block=96:scaletype=f16", 832},
            {"gptq", "int8:dialect=ct:scale=channel:scaletype=f16", 832},
            {"gptq", "int4:dialect=ct:sym=no:block=32:scaletype=f16", 19488}}; // more outputs than a slab holds
        for (const auto& [layout, spec, rows] : cases)
            QTest::addRow("%s %s %d", layout, spec, rows)
                << QString::fromLatin1(layout) << QString::fromLatin1(spec) << rows;
    }
    void asAlone() {
        QFETCH(QString, layout);
        QFETCH(QString, spec);
        QFETCH(int, rows);
        if (kThinning > 1 && rows > 1000) QSKIP("too many values for a sanitizer");
        const QTemporaryDir folder;
        const auto model = opened(folder, {made("p.weight", DType::F32, {rows, 864}, wavy(std::size_t(rows) * 864))});
        auto tensor = MeasuredTensor::of(*model->view(model->tensors.front()), *parseSpec(spec.toStdString()), Job{});
        QVERIFY(tensor.has_value());
        auto made = inLayout(*findLayout(layout.toStdString()), std::move(*tensor));
        QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
        const auto fields =
            tensorsToWrite(std::make_shared<MeasuredTensor>(std::move(made->tensor)), std::move(made->fields));
        QVERIFY(fields.front().together != nullptr);
        const auto all = together(fields);
        for (std::size_t i = 0; i < fields.size(); ++i) {
            const Bytes one = alone(fields[i]);
            QVERIFY2(!one.empty(), fields[i].name.c_str());
            QVERIFY2(one == all[i], fields[i].name.c_str());
        }
    }

    /// The mean for double quantization, with scales that arrive in pieces.
    void sumInPieces() {
        const auto values = wavy(70'001);
        for (const std::size_t n : {0ul, 1ul, 7ul, 8ul, 31ul, 32ul, 33ul, 511ul, 512ul, 4'097ul, 70'001ul}) {
            TorchSum sum(n), whole(n);
            for (std::size_t at = 0, step = 1; at < n; at += step, step = step * 3 % 101 + 1)
                sum.add(std::span(values).subspan(at, std::min(step, n - at)));
            whole.add(std::span(values).first(n));
            QCOMPARE(sum.sum(), whole.sum());
        }
    }

    /// Scales relative to the tensor: with so many groups that scales are not kept, and with few.
    void manyGroupsAsFew() {
        if (kThinning > 1) QSKIP("too many values for a sanitizer");
        constexpr std::int64_t kColumns = 4096, kFew = 4096; // 2^20 groups of 16
        const QTemporaryDir folder;
        auto values = wavy(std::size_t((kFew + 1) * kColumns));
        values[5] = 3; // the largest value of both
        const std::vector<float> first(values.begin(), values.end() - kColumns);
        const auto model = opened(folder, {made("few", DType::F32, {kFew, kColumns}, first),
                                           made("many", DType::F32, {kFew + 1, kColumns}, values)});
        std::vector<std::vector<GroupParams>> params;
        for (const char* name : {"few", "many"}) {
            auto tensor = MeasuredTensor::of(*model->view(*model->find(name)), *parseSpec("nvfp4"), Job{});
            params.push_back(*measureScales(*tensor));
            QCOMPARE((*tensor->pass())->shared().empty(), name == std::string("many"));
        }
        for (std::size_t i = 0; i < params[0].size(); ++i) {
            QCOMPARE(params[0][i].scale, params[1][i].scale);
            QCOMPARE(params[0][i].aux, params[1][i].aux);
        }
    }
};

QS_TEST(TogetherTest)
#include "together_test.moc"
