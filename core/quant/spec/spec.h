// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What to do to a tensor, in one spelling everywhere: format[:key=value]*, keys in any order.
// parse(text(s)) == s. `spec_full` is canonicalText(): every key of the format, in a fixed order.

#include "core/base/result.h"
#include "core/quant/spec/formats.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

enum class Decode { Table, Poly };
enum class NanPolicy { Refuse, Skip };
enum class Compute { F32, Input };
/// scale=channel is axis=-1: one scale per index of the other axes.
enum class ScaleSpelling { Default, None, Tensor, Channel, Block };

struct Calibration {
    std::string id;                ///< of a row of calibrationRows()
    std::vector<double> arguments; ///< absmax,c: {c}
    bool operator==(const Calibration&) const = default;
};

/// tile=AxN: one scale per N consecutive elements of axis A; several axes give blocks of several dimensions.
struct Tile {
    int axis = -1; ///< may be negative
    std::uint32_t size = 0;
    bool operator==(const Tile&) const = default;
};
/// sparse=N/M: of every M consecutive values the N largest magnitudes stay.
struct Sparsity {
    std::uint32_t keep = 0, of = 0;
    bool operator==(const Sparsity&) const = default;
};

struct QuantSpec {
    std::string format = "nf4";
    ScaleSpelling scale = ScaleSpelling::Default;
    std::optional<std::uint32_t> block;
    std::optional<std::vector<int>> axes; ///< REDUCED axes, may be negative
    bool keepsOutput = false;             ///< axis=out: all axes but that of the output channels; see forTensor()
    std::optional<Calibration> calibration;
    std::optional<Decode> decode;
    std::optional<NanPolicy> nan;
    std::optional<Compute> compute;
    std::optional<std::string> dialect;
    std::optional<std::vector<Tile>> tiles;
    std::optional<bool> flat;               ///< blocks run over all axes but the first, as one
    std::optional<std::string> scaleType;   ///< id of a row of scaleTypeRows()
    std::optional<bool> symmetric;          ///< sym=no: a zero point, or a bias, per scale
    std::optional<std::int64_t> stochastic; ///< seed of round=stochastic; -1 is round=nearest, spelled out
    std::optional<Sparsity> sparsity;
    std::optional<std::uint32_t> bits; ///< of learned codebooks
    bool operator==(const QuantSpec&) const = default;

    const FormatTraits& traits() const; ///< the format is known: parseSpec() and the editor guarantee it
    // The fields with the format's defaults filled in.
    ScaleKind scaleKind() const;
    std::uint32_t blockSize() const;      ///< elements; 0 unless scaleKind() == Block
    std::vector<int> reducedAxes() const; ///< {-1} for scale=channel; {} for axis=out, which needs a tensor
    /// One scale per row of a matrix [out, in].
    bool hasScalePerRow() const;
    bool isFlat() const { return flat.value_or(false); }
    Calibration effectiveCalibration() const;
    Decode effectiveDecode() const { return decode.value_or(Decode::Table); }
    NanPolicy effectiveNan() const { return nan.value_or(NanPolicy::Refuse); }
    Compute effectiveCompute() const { return compute.value_or(Compute::F32); }
    std::string effectiveDialect() const;
    std::string effectiveScaleType() const;
    bool isSymmetric() const;                        ///< unless said, as the dialect is
    std::optional<std::uint64_t> randomSeed() const; ///< of round=stochastic
    std::uint32_t codeBits() const;                  ///< the format's, or those of bits=
};

/// Refuses with what is wrong; Error::works are whole specs that work.
Result<QuantSpec> parseSpec(std::string_view text);
/// The keys that were given and their values, in the order of the text: {"block", "32"}.
std::vector<std::pair<std::string_view, std::string>> specKeys(const QuantSpec& spec);
/// "nf4:block=32": the format and the keys that were given.
std::string specText(const QuantSpec& spec);
/// Every key that the format has, in a fixed order.
std::string canonicalText(const QuantSpec& spec);
/// The spec is consistent (block rule, scale kind, calibration, dialect of the format); parseSpec() has called it.
Result<void> validate(const QuantSpec& spec);

/// The words of a space-separated list of FormatTraits.
std::vector<std::string_view> words(std::string_view list);

} // namespace qs
