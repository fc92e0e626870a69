// SPDX-License-Identifier: GPL-3.0-or-later
// Codes of four bits under the codebook that their label names. Blocks of weights divided by their largest magnitude are
// distributed much alike, so a codebook has shares of its codes that it is known by. NF4, AF4 and integers are too near to
// each other to be told apart; floats, other orders and two's complement are not.
#include "core/analysis/audit_checks.h"
#include "core/base/random.h"
#include "core/model/derived_tensor.h"
#include "core/quant/stored.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace qs {
namespace {

using Levels = std::array<double, 16>; ///< value of each code of four bits; NaN where it stands for none
using Shares = std::array<double, 16>;

struct Codebook {
    std::string title;
    Levels levels;
};

/// Bits as stored: of floats their own, else an index into the levels.
std::optional<Codebook> codebookOf(const FormatTraits& format) {
    if (format.levels.size() < 3 || format.levels.size() > 16 || format.bits != 4) return std::nullopt;
    Codebook out{format.title, {}};
    out.levels.fill(std::nan(""));
    const auto table = format.bytes.empty() ? std::vector<float>() : floatTable(format);
    for (std::size_t i = 0; i < 16; ++i)
        if (!table.empty())
            out.levels[i] = double(table[i]);
        else if (i < format.levels.size())
            out.levels[i] = double(format.levels[i]);
    return out;
}

std::vector<Codebook> knownCodebooks() {
    std::vector<Codebook> out;
    for (const FormatTraits& format : formats())
        if (format.kind == FormatKind::Codebook || format.kind == FormatKind::Float ||
            format.kind == FormatKind::Integer)
            if (auto codebook = codebookOf(format)) out.push_back(std::move(*codebook));
    Codebook signedIntegers{"INT4 in two's complement", {}}, offset{"INT4 from -8 on", {}};
    for (int i = 0; i < 16; ++i) {
        signedIntegers.levels[std::size_t(i)] = i < 8 ? i : i - 16;
        offset.levels[std::size_t(i)] = i - 8;
    }
    out.push_back(signedIntegers), out.push_back(offset);
    return out;
}

/// Blocks of 16 to 256 normal, Laplacian and even values, divided by their largest magnitudes; weights lie between.
const std::vector<std::vector<float>>& models() {
    static const auto all = [] {
        constexpr std::size_t n = 1 << 15;
        std::vector<std::vector<float>> out;
        for (const int kind : {0, 1, 2})
            for (const std::size_t block : {16, 32, 64, 128, 256}) {
                auto& values = out.emplace_back();
                for (std::size_t i = 0; i < n; ++i) {
                    const double even = double(randomBits(1, 2, i) >> 11) * 0x1p-53;
                    const double sign = even < 0.5 ? -1 : 1, part = 1 - std::fabs(2 * even - 1);
                    values.push_back(kind == 0   ? normalVariate(1, 1, i)
                                     : kind == 1 ? float(-sign * std::log(std::max(part, 1e-12)))
                                                 : float(2 * even - 1));
                }
                for (std::size_t begin = 0; begin < n; begin += block) {
                    float most = 0;
                    for (std::size_t i = begin; i < begin + block; ++i) most = std::max(most, std::fabs(values[i]));
                    for (std::size_t i = begin; i < begin + block; ++i) values[i] /= most;
                }
            }
        return out;
    }();
    return all;
}

/// How far shares are from those that the codebook has of weights, 0 to 1: the least over the models.
double distance(const Levels& levels, const Shares& shares) {
    std::map<double, double> found; // by level: two zeros are one
    for (std::size_t i = 0; i < 16; ++i)
        if (!std::isnan(levels[i])) found[levels[i] + 0.0] += shares[i];
    double nothing = 0, most = 0; // codes that stand for nothing
    for (std::size_t i = 0; i < 16; ++i) nothing += std::isnan(levels[i]) ? shares[i] : 0;
    std::vector<double> sorted;
    for (const auto& [level, share] : found) sorted.push_back(level), most = std::max(most, std::fabs(level));
    double least = 1;
    for (const auto& model : models()) {
        std::vector<double> expected(sorted.size());
        for (const float v : model) {
            const double x = double(v) * most;
            auto at = std::lower_bound(sorted.begin(), sorted.end(), x);
            if (at == sorted.end() || (at != sorted.begin() && x - *(at - 1) < *at - x)) --at;
            expected[std::size_t(at - sorted.begin())] += 1.0 / double(model.size());
        }
        double apart = nothing;
        for (std::size_t i = 0; i < sorted.size(); ++i) apart += std::fabs(found[sorted[i]] - expected[i]);
        least = std::min(least, apart / 2);
    }
    return least;
}

/// How often each nibble occurs; both of a byte, so their order does not matter. Up to 4 MiB, evenly.
std::optional<Shares> sharesOf(const Model& model, const TensorInfo& codes) {
    const auto view = model.view(codes);
    if (!view || codes.bytes < 2048) return std::nullopt;
    constexpr std::uint64_t piece = 65536, pieces = 64;
    const std::uint64_t step = std::max(piece, codes.bytes / pieces);
    std::array<std::uint64_t, 16> counts{};
    std::vector<std::byte> scratch;
    double n = 0;
    for (std::uint64_t at = 0; at < codes.bytes; at += step) {
        for (const std::byte byte : view->read(at, std::size_t(std::min(piece, codes.bytes - at)), scratch)) {
            ++counts[std::size_t(byte) & 15], ++counts[std::size_t(byte) >> 4];
            n += 2;
        }
    }
    Shares out{};
    for (std::size_t i = 0; i < 16; ++i) out[i] = double(counts[i]) / n;
    return out;
}

/// Tensors of four-bit codes with what their label says of them.
struct Labelled {
    std::string name; ///< that people know it by
    const TensorInfo* codes;
    const FormatTraits* format;
};
std::vector<Labelled> labelled(const Model& model) {
    std::vector<Labelled> out;
    for (const ModelFile& file : model.files)
        for (const auto& [key, text] : file.metadata) {
            if (!key.starts_with(kStoredPrefix)) continue;
            const auto stored = parseStored(key, text);
            if (!stored || stored->spec.traits().bits != 4) continue;
            for (const auto& name : stored->fields())
                if (const auto* codes = model.find(name);
                    codes && (name.ends_with(".codes") || name.ends_with(".packed")))
                    out.push_back({codes->name, codes, &stored->spec.traits()});
        }
    constexpr std::string_view kBnb = "bnb-"; // bitsandbytes' layers: bnb-nf4, bnb-fp4
    for (const TensorInfo& tensor : model.tensors) {
        if (!tensor.derived || tensor.derived->parts().empty()) continue;
        const std::string_view type = tensor.derived->typeId();
        const auto* format = type.starts_with(kBnb) ? findFormat(type.substr(kBnb.size())) : nullptr;
        if (format && format->bits == 4) out.push_back({tensor.name, &tensor.derived->parts().front(), format});
    }
    return out;
}

} // namespace

void findCodebook(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    const auto known = knownCodebooks();
    for (const auto& [name, codes, format] : labelled(*audited.model)) {
        const auto label = codebookOf(*format);
        const auto shares = label ? sharesOf(*audited.model, *codes) : std::nullopt;
        if (!shares) continue;
        const double asLabelled = distance(label->levels, *shares);
        if (asLabelled < 0.15) continue;
        const Codebook* best = nullptr;
        double least = std::min(0.1, asLabelled / 2);
        for (const Codebook& codebook : known)
            if (const double other = distance(codebook.levels, *shares); other < least) best = &codebook, least = other;
        if (best)
            out.push_back(
                {&self, name,
                 fmt::format("labelled {}, from which the shares of its codes are {:.0f} % away; {:.0f} % from "
                             "those of {}",
                             label->title, 100 * asLabelled, 100 * least, best->title)});
    }
}

} // namespace qs
