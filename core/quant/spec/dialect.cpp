// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec/dialect.h"

#include "core/quant/spec/dialects/rows.h"
#include "core/quant/spec/trained.h"

#include <cassert>
#include <cfloat>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr const Dialect* kDialects[] = {&kEformerDialect,   &kAqtDialect,           &kAqtMaxDialect,
                                        &kAqtHalvesDialect, &kQwixDialect,          &kCompressedTensorsDialect,
                                        &kMaxTextDialect,   &kBitsandbytes4Dialect, &kLlmInt8Dialect,
                                        &kMlxDialect,       &kBitNetDialect,        &kGgmlDialect,
                                        &kOcpDialect};

bool definesFormat(const Dialect& dialect, const FormatTraits& format) {
    return dialect.defines && dialect.defines(format);
}

const Dialect& defaultDialect(const FormatTraits& format) {
    for (const Dialect* dialect : kDialects)
        if (definesFormat(*dialect, format)) return *dialect;
    assert(false && "every format has a dialect that defines it");
    return kEformerDialect;
}

} // namespace

std::span<const Dialect* const> dialects() { return kDialects; }

std::vector<const Dialect*> dialectsOf(const FormatTraits& format) {
    std::vector<const Dialect*> out{&defaultDialect(format)};
    for (const Dialect* dialect : kDialects)
        if (dialect != out.front() && dialect->takes(format)) out.push_back(dialect);
    return out;
}

std::vector<std::string_view> dialectIds(const FormatTraits& format) {
    std::vector<std::string_view> out;
    for (const Dialect* dialect : dialectsOf(format)) out.push_back(dialect->id);
    return out;
}

const Dialect* findDialect(std::string_view id, const FormatTraits& format) {
    for (const Dialect* dialect : kDialects)
        if (id == dialect->id && dialect->takes(format)) return dialect;
    return nullptr;
}

const Dialect& dialectOf(const QuantSpec& spec) {
    if (!spec.dialect) return defaultDialect(spec.traits());
    if (const Dialect* dialect = findDialect(*spec.dialect, spec.traits())) return *dialect;
    const auto* trained = findTrained(*spec.dialect);
    return trained ? dialectOf(trained->base) : defaultDialect(spec.traits()); // a word that validate() refuses
}

const char* keyTooMany(const QuantSpec& spec, const CalibrationTraits& calibration, bool symmetric) {
    const bool clips =
        spec.calibration && (spec.calibration->id != calibration.id || !spec.calibration->arguments.empty());
    return spec.sparsity                            ? "sparse"
           : spec.randomSeed()                      ? "round"
           : spec.isSymmetric() != symmetric        ? "sym"
           : clips                                  ? "calib"
           : spec.effectiveNan() == NanPolicy::Skip ? "nan"
                                                    : nullptr;
}

Result<void> checkPlainBlocks(const QuantSpec& spec) {
    const auto refuse = [&](std::string_view what) {
        return fail(fmt::format("dialect={} of {} has no {}", dialectOf(spec).id, spec.format, what));
    };
    if (spec.tiles) return refuse("tiles");
    if (spec.sparsity) return refuse("N:M sparsity");
    if (spec.decode == Decode::Poly) return refuse("polynomial decode");
    if (spec.scaleKind() != ScaleKind::Block) return refuse("scales but those of blocks");
    return {};
}

float largestTaken(const QuantSpec& spec) {
    const auto largest = dialectOf(spec).largestTaken;
    return largest ? largest(spec) : FLT_MAX;
}

bool blocksCrossRows(const QuantSpec& spec) { return dialectOf(spec).crossesRows; }

} // namespace qs
