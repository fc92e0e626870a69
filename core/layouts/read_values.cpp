// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/read_values.h"

#include "core/model/computed_type.h"
#include "core/quant/encode/quantizer.h"
#include "core/quant/encode/solved.h"
#include "core/quant/spec/code_set.h"

#include <algorithm>

namespace qs {
namespace {

/// Values of readers that do not compute level * scale.
void asRead(const Layout& layout, const QuantSpec& spec, const PassRange& range, RunEncoder& encode, float* values) {
    const CodeSet set = codeSetOf(spec);
    const std::size_t group = std::max<std::size_t>(1, range.run.group);
    std::vector<std::uint8_t> codes(range.n);
    std::vector<float> scales((range.n + group - 1) / group);
    RunOut out;
    out.codes = codes.data(), out.scales = scales.data();
    encode(range.run, out);
    std::vector<float> table(set.levels.size());
    for (std::size_t begin = 0; begin < range.n; begin += group) {
        const std::size_t end = std::min(range.n, begin + group);
        const float scale = scales[begin / group];
        const std::size_t n = end - begin;
        if (n < table.size()) {
            for (std::size_t i = begin; i < end; ++i) values[i] = layout.valueOf(set.levels[codes[i]], scale);
            continue;
        }
        for (std::size_t k = 0; k < table.size(); ++k) table[k] = layout.valueOf(set.levels[k], scale);
        static constexpr float kOne = 1;
        bestKernels().dequantize(codes.data() + begin, n, n, &kOne, table.data(), int(table.size()), values + begin);
    }
}

/// Values of readers that round between their steps.
void asRead(const ReadAs& readAs, const PassRange& range, RunEncoder& encode, float* values) {
    const std::size_t group = std::max<std::size_t>(1, range.run.group);
    thread_local std::vector<std::uint8_t> codes;
    thread_local std::vector<float> scales, zeros;
    codes.resize(range.n);
    scales.assign((range.n + group - 1) / group, 0);
    zeros.assign(scales.size(), 0);
    RunOut out;
    out.codes = codes.data(), out.scales = scales.data(), out.zeros = zeros.data();
    encode(range.run, out);
    readAs(codes, scales, zeros, group, values);
}

} // namespace

void readValues(const TensorInLayout& source, const Layout& layout, const PassRange& range, RunEncoder& encode,
                float* values) {
    if (source.fields.readAs) return asRead(source.fields.readAs, range, encode, values);
    if (layout.valueOf) {
        asRead(layout, source.tensor.spec(), range, encode, values);
    } else {
        RunOut out;
        out.decoded = values;
        encode(range.run, out);
    }
    const Solved* solved = source.tensor.solved();
    if (solved) applyColumnScales(solved->columnScales, range.begin, values, range.n);
}

Result<std::vector<float>> readBack(TensorInLayout& source, const Layout& layout) {
    MeasuredTensor& tensor = source.tensor;
    const auto pass = tensor.pass();
    if (!pass) return tl::unexpected(pass.error());
    std::vector<float> values(tensor.info().elements);
    auto encoders = tensor.encoders();
    const auto done = (*pass)->run(0, (*pass)->units(), tensor.job(), [&](const PassRange& range) {
        readValues(source, layout, range, encoders[range.worker], values.data() + range.begin);
    });
    if (!done) return tl::unexpected(done.error());
    roundTo(source.fields.readType.value_or(computedType(tensor.info().dtype)), values.data(), values.size());
    return values;
}

} // namespace qs
