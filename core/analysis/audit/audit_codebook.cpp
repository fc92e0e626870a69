// SPDX-License-Identifier: GPL-3.0-or-later
// Checks 4-bit codes against the codebook that their label names. The method is explained in audit_shares.h.
#include "core/analysis/audit/audit_checks.h"
#include "core/analysis/audit/audit_shares.h"
#include "core/layouts/stored.h"
#include "core/model/derived_tensor.h"
#include "core/quant/encode/pass.h"
#include "core/quant/encode/quantizer.h"
#include "core/quant/spec/scale_type.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace qs {
namespace {

struct Codebook {
    std::string title;
    Levels levels;
};

/// The values of a 4-bit format by stored code. Codes of floats are their bits; other codes are indices into the
/// levels.
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

/// The codebook with its codes renumbered: `code` gets the value of order(code).
Codebook reordered(const Codebook& codebook, const char* how, unsigned (*order)(unsigned code)) {
    Codebook out{codebook.title + how, {}};
    for (unsigned i = 0; i < 16; ++i) out.levels[i] = codebook.levels[order(i)];
    return out;
}

/// Codebooks to compare with: those of all formats, two encodings of INT4, and the label's codebook in other code
/// orders.
std::vector<Codebook> knownCodebooks(const Codebook& label) {
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
    out.push_back(reordered(label, " in descending order", [](unsigned code) { return 15 - code; }));
    out.push_back(reordered(label, " with the highest bit inverted", [](unsigned code) { return code ^ 8; }));
    out.push_back(reordered(label, " with its bits in reverse", [](unsigned code) {
        return (code & 1) << 3 | (code & 2) << 1 | (code & 4) >> 1 | (code & 8) >> 3;
    }));
    return out;
}

/// Frequency of each code. Both nibbles of a byte are counted, so their order does not matter. Reads up to 4 MiB,
/// evenly distributed. Empty for tensors that cannot be read or are below 2 KiB.
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
    releasePages(model, codes);
    Shares out{};
    for (std::size_t i = 0; i < 16; ++i) out[i] = double(counts[i]) / n;
    return out;
}

/// A tensor of 4-bit codes and what its label says.
struct Labelled {
    std::string name; ///< name to show to the user
    const TensorInfo* codes;
    const FormatTraits* format;
    std::uint64_t block;    ///< number of weights per scale
    bool exponents = false; ///< scales are powers of two
};

/// True if the scale follows from the largest magnitude. Other calibrations clip, which the model does not describe.
bool scalesByLargest(const QuantSpec& spec) {
    const bool clips = spec.calibration && !spec.calibration->arguments.empty();
    return spec.scaleKind() != ScaleKind::None && spec.isSymmetric() && !clips && !spec.sparsity &&
           EncodePlan(spec).run().statistic == GroupStatistic::AbsMax;
}

std::vector<Labelled> labelled(const Model& model) {
    std::vector<Labelled> out;
    for (const ModelFile& file : model.files)
        for (const auto& [key, text] : file.metadata) {
            if (!key.starts_with(kStoredPrefix)) continue;
            const auto stored = parseStored(key, text);
            if (!stored || stored->spec.traits().bits != 4 || !scalesByLargest(stored->spec)) continue;
            const bool powers = scaleTypeOf(stored->spec).isPowerOfTwo;
            const auto grid = scaleGrid(stored->spec, stored->shape);
            if (!grid || grid->scales <= 0) continue;
            const std::uint64_t block = std::max<std::uint64_t>(1, stored->elements / std::uint64_t(grid->scales));
            for (const auto& name : stored->fields())
                if (const auto* codes = model.find(name);
                    codes && (name.ends_with(".codes") || name.ends_with(".packed")))
                    out.push_back({codes->name, codes, &stored->spec.traits(), block, powers});
        }
    constexpr std::string_view kBnb = "bnb-"; // types of bitsandbytes layers: bnb-nf4, bnb-fp4
    for (const TensorInfo& tensor : model.tensors) {
        if (!tensor.derived || tensor.derived->parts().size() < 2) continue;
        const std::string_view type = tensor.derived->typeId();
        const auto* format = type.starts_with(kBnb) ? findFormat(type.substr(kBnb.size())) : nullptr;
        const auto parts = tensor.derived->parts(); // codes, absmax
        if (format && format->bits == 4)
            out.push_back(
                {tensor.name, &parts[0], format, tensor.elements / std::max<std::uint64_t>(1, parts[1].elements)});
    }
    return out;
}

/// Distances of a tensor's codes from the labelled codebook and from the others, in their order.
struct Fit {
    double label = 0;
    std::vector<double> others;
};

/// Reports a codebook that fits many tensors better than their label, when single tensors are not conclusive.
void findByMany(const std::vector<Fit>& fits, const std::vector<Codebook>& others, const std::string& title,
                const AuditCheck& self, Findings& out) {
    std::size_t best = 0, most = 0;
    for (std::size_t i = 0; i < others.size(); ++i) {
        const auto hits =
            std::size_t(std::ranges::count_if(fits, [&](const Fit& fit) { return fit.others[i] * 2 < fit.label; }));
        if (hits > most) most = hits, best = i;
    }
    if (most == 0 || binomialTail(fits.size(), most, kWrongByChance) > kFalseAlarm) return;
    out.push_back({&self,
                   {},
                   fmt::format("{} tensors are labelled {}, and {} fits the shares of the codes of {} of them at least "
                               "twice as well; of trained weights with the right label one of ten does",
                               fits.size(), title, others[best].title, most)});
}

} // namespace

void findCodebook(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    const auto all = labelled(*audited.model);
    std::map<std::string_view, std::vector<const Labelled*>> byFormat;
    for (const Labelled& each : all) byFormat[each.format->id].push_back(&each);
    for (const auto& [id, tensors] : byFormat) {
        const auto label = codebookOf(*tensors.front()->format);
        if (!label) continue;
        const auto others = knownCodebooks(*label);
        std::vector<Fit> fits;
        bool any = false;
        for (const Labelled* tensor : tensors) {
            const auto shares = sharesOf(*audited.model, *tensor->codes);
            if (!shares) continue;
            Fit fit{sharesDistance(label->levels, *shares, tensor->block, tensor->exponents), {}};
            for (const Codebook& other : others)
                fit.others.push_back(sharesDistance(other.levels, *shares, tensor->block, tensor->exponents));
            const auto least = std::ranges::min_element(fit.others);
            if (fit.label > kMisfit && *least * 4 < fit.label) {
                any = true;
                out.push_back({&self, tensor->name,
                               fmt::format("labelled {}, from which the shares of its codes are {:.3f} nats away; "
                                           "{:.3f} from those of {}",
                                           label->title, fit.label, *least,
                                           others[std::size_t(least - fit.others.begin())].title)});
            }
            fits.push_back(std::move(fit));
        }
        if (!any) findByMany(fits, others, label->title, self, out);
    }
}

} // namespace qs
