// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/offers.h"

#include "core/quant/spec/calibration.h"
#include "core/quant/spec/dialect.h"
#include "core/quant/spec/spec_nearest.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace qs {
namespace {

using Specs = std::vector<QuantSpec>;

QuantSpec withBlock(QuantSpec spec, std::uint32_t block) {
    spec.block = block;
    spec.axes.reset(), spec.tiles.reset();
    spec.scale = ScaleSpelling::Default;
    return spec;
}

/// Powers of two, the nearest to the wanted block first; of two as near the smaller one.
Specs otherBlocks(const QuantSpec& spec) {
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t size = 8; size <= 4096; size *= 2) sizes.push_back(size);
    const double wanted = std::log2(double(std::max(1u, spec.blockSize() ? spec.blockSize() : 128u)));
    const auto distance = [wanted](std::uint32_t size) { return std::fabs(std::log2(double(size)) - wanted); };
    std::ranges::stable_sort(sizes, [&](auto a, auto b) { return distance(a) < distance(b); });
    Specs out;
    for (const std::uint32_t size : sizes) out.push_back(withBlock(spec, size));
    return out;
}

Specs otherDialects(const QuantSpec& spec) {
    Specs out;
    for (const auto id : dialectIds(spec.traits())) {
        out.push_back(spec);
        out.back().dialect = std::string(id);
    }
    return out;
}

Specs otherScaleTypes(const QuantSpec& spec) {
    Specs out;
    for (const auto id : scaleTypesOf(spec)) {
        out.push_back(spec);
        out.back().scaleType = std::string(id);
    }
    return out;
}

Specs otherPlaces(const QuantSpec& spec) {
    Specs out(2, spec);
    for (QuantSpec& one : out) one.block.reset(), one.axes.reset(), one.tiles.reset();
    out[0].scale = ScaleSpelling::Channel, out[1].scale = ScaleSpelling::Tensor;
    return out;
}

Specs otherZeroPoints(const QuantSpec& spec) {
    Specs out{spec};
    out[0].symmetric = !spec.isSymmetric();
    return out;
}

/// One change of a key; that which changes the codes least comes first.
constexpr Specs (*kChanges[])(const QuantSpec&) = {otherBlocks, otherDialects, otherScaleTypes, otherPlaces,
                                                   otherZeroPoints};

constexpr std::size_t kMostOtherFormats = 8; ///< what has far fewer or more bits is no substitute

/// Formats of about as many bits; those of the same kind first.
std::vector<std::string_view> otherFormats(const QuantSpec& spec) {
    std::vector<const FormatTraits*> rows;
    for (const FormatTraits& format : formats())
        if (format.id != spec.format && format.kind != FormatKind::Identity) rows.push_back(&format);
    const auto distance = [&](const FormatTraits* row) {
        return std::pair(std::fabs(double(row->bits) - double(spec.traits().bits)), row->kind != spec.traits().kind);
    };
    std::ranges::stable_sort(rows, [&](const auto* a, const auto* b) { return distance(a) < distance(b); });
    std::vector<std::string_view> ids;
    for (const auto* row : rows)
        if (ids.size() < kMostOtherFormats) ids.push_back(row->id);
    return ids;
}

constexpr int kMostTried = 1200; ///< specs: where nothing fits, a sentence shall not take longer than the refusal

class Search {
public:
    Search(const std::function<bool(const QuantSpec&)>& takes, std::size_t most) : takes_(takes), most_(most) {}

    /// Specs with up to `changes` changed keys, fewer changes first. Each key is changed once, in the order of kChanges.
    void from(const QuantSpec& start, int changes) {
        struct Step {
            QuantSpec spec;
            std::size_t next; ///< of kChanges
        };
        std::vector<Step> level{{start, 0}};
        seen_.clear();
        for (int depth = 0; depth < changes && !enough(); ++depth) {
            std::vector<Step> steps;
            for (const Step& one : level)
                for (std::size_t change = one.next; change < std::size(kChanges); ++change)
                    for (QuantSpec& other : kChanges[change](one.spec))
                        if (tried_ < kMostTried && seen_.insert(specText(other)).second && ++tried_ && checkSpec(other))
                            steps.push_back({std::move(other), change + 1});
            for (const Step& one : steps) offer(one.spec);
            level = std::move(steps);
        }
    }
    void offer(const QuantSpec& spec) { // a sound one
        if (found_.size() >= most_ || !takes_(spec)) return;
        const auto same = [full = canonicalText(spec)](const QuantSpec& other) { return canonicalText(other) == full; };
        if (std::ranges::none_of(found_, same)) found_.push_back(spec);
    }
    bool enough() const { return found_.size() >= most_ || tried_ >= kMostTried; }
    bool any() const { return !found_.empty(); }
    Specs found() && { return std::move(found_); }

private:
    const std::function<bool(const QuantSpec&)>& takes_;
    std::size_t most_;
    std::set<std::string> seen_;
    int tried_ = 0;
    Specs found_;
};

} // namespace

std::vector<QuantSpec> specsNear(const QuantSpec& wanted, const std::function<bool(const QuantSpec&)>& takes,
                                 std::size_t most) {
    if (!findFormat(wanted.format)) return {};
    Search search(takes, most);
    search.from(wanted, 2);
    if (!search.any()) search.from(wanted, 3);
    if (search.any()) return std::move(search).found();
    for (const auto id : otherFormats(wanted)) {
        QuantSpec plain;
        plain.format = std::string(id);
        if (checkSpec(plain)) search.offer(plain);
        if (!search.enough()) search.from(plain, 2);
        if (search.enough()) break;
    }
    return std::move(search).found();
}

namespace {

/// Whether a spec fits all of some tensors; of those of one shape, one is asked.
class Fits {
public:
    Fits(std::span<const TensorInfo* const> tensors, const Layout* layout) : layout_(layout) {
        for (const TensorInfo* tensor : tensors)
            if (info(tensor->dtype).quantizable) shapes_.emplace(tensor->shape, tensor);
    }
    bool any() const { return !shapes_.empty(); }
    bool operator()(const QuantSpec& asked) const {
        return std::ranges::all_of(shapes_, [&](const auto& one) {
            const TensorInfo& tensor = *one.second;
            const QuantSpec spec = forTensor(asked, tensor);
            return layout_ ? layout_->accepts(spec, tensor.shape).has_value()
                           : scaleGrid(spec, tensor.shape).has_value();
        });
    }

private:
    const Layout* layout_;
    std::map<std::vector<std::int64_t>, const TensorInfo*> shapes_;
};

} // namespace

std::vector<QuantSpec> specsThatFit(const QuantSpec& wanted, std::span<const TensorInfo* const> tensors,
                                    const Layout* layout, std::size_t most) {
    const Fits fits(tensors, layout);
    return fits.any() ? specsNear(wanted, fits, most) : Specs();
}

std::vector<QuantSpec> specsForRefused(const QuantSpec& refused, std::span<const TensorInfo* const> tensors,
                                       bool holdNonFinite, std::size_t most) {
    const Fits fits(tensors, nullptr);
    if (!fits.any()) return {};
    QuantSpec other = refused;
    if (holdNonFinite)
        other.nan = NanPolicy::Skip;
    else if (fits(refused))
        other.dialect.reset(); // the shape fits, so the values were refused
    if (other == refused || !checkSpec(other)) return specsNear(refused, fits, most);
    return fits(other) ? Specs{other} : specsNear(other, fits, most);
}

std::string offersText(std::span<const QuantSpec> offers) {
    std::string text;
    for (const QuantSpec& offer : offers) text += (text.empty() ? "; what fits: " : " or ") + specText(offer);
    return text;
}

} // namespace qs
