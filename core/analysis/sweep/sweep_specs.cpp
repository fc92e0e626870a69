// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/sweep/sweep.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>

namespace qs {
namespace {

constexpr std::array<std::uint32_t, 5> kSweptBlocks = {16, 32, 64, 128, 256};

// Formats of the default sweep; all others are swept only on request.
constexpr std::string_view kUsual[] = {"nf4",  "af4",   "int2",    "int3",     "int4",  "int5", "int6",
                                       "int8", "mxfp4", "ternary", "q2_k",     "q3_k",  "q4_k", "q5_k",
                                       "q6_k", "q4_0",  "iq4_xs",  "fp8_e4m3", "binary"};

bool has(const FormatTraits& traits, ScaleKind kind) { return traits.scaleKinds & std::uint8_t(kind); }

bool takesBlocks(const QuantSpec& spec) {
    const auto& traits = spec.traits();
    return has(traits, ScaleKind::Block) && traits.minBlock < traits.maxBlock && !spec.block && !spec.axes &&
           !spec.keepsOutput && !spec.tiles &&
           (spec.scale == ScaleSpelling::Default || spec.scale == ScaleSpelling::Block) &&
           (spec.scale == ScaleSpelling::Block || spec.scaleKind() != ScaleKind::None);
}

} // namespace

std::span<const std::uint32_t> usualSweepBlocks() { return kSweptBlocks; }

std::vector<SweepLine> sweepLines() {
    std::vector<SweepLine> lines;
    for (const auto& traits : formats()) {
        const bool usual = std::find(std::begin(kUsual), std::end(kUsual), traits.id) != std::end(kUsual);
        const std::string id = traits.id;
        if (!traits.bitWidths.empty()) {
            for (const auto bits : words(traits.bitWidths))
                lines.push_back({fmt::format("{}:bits={}", id, bits), false});
            continue;
        }
        const bool unscaled = traits.defaultScale == ScaleKind::None && has(traits, ScaleKind::Block);
        lines.push_back({unscaled ? id + ":scale=block" : id, usual});
        if (traits.affine) lines.push_back({id + ":sym=no", false});
    }
    return lines;
}

Result<std::vector<SweepSpec>> sweepSpecs(const std::vector<std::string>& lines,
                                          const std::vector<std::uint32_t>& blocks) {
    std::vector<SweepSpec> out;
    std::set<std::string> known;
    const auto add = [&](const std::string& line, std::uint32_t block, const QuantSpec& spec) {
        if (known.insert(canonicalText(spec)).second) out.push_back({line, block, spec});
    };
    for (const auto& line : lines) {
        const auto spec = parseSpec(line);
        if (!spec) return tl::unexpected(spec.error());
        if (!takesBlocks(*spec)) {
            add(line, spec->blockSize(), *spec);
            continue;
        }
        const std::size_t before = out.size();
        for (const std::uint32_t block : blocks) {
            QuantSpec sized = *spec;
            sized.block = block;
            if (validate(sized)) add(line, block, sized);
        }
        if (spec->scaleKind() != ScaleKind::Block)
            add(line, 0, *spec);
        else if (out.size() == before && !blocks.empty()) {
            QuantSpec sized = *spec;
            sized.block = blocks.front();
            if (const auto fine = validate(sized); !fine) return tl::unexpected(fine.error());
        } else if (blocks.empty())
            add(line, spec->blockSize(), *spec);
    }
    if (out.empty()) return fail("There is nothing to sweep: name a spec, for instance nf4");
    return out;
}

} // namespace qs
