// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/verify/derive.h"

#include "core/analysis/diff/diff_compare.h"
#include "core/layouts/layouts.h"
#include "core/verify/candidates.h"
#include "core/verify/rounded_tensor.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::uint64_t kSampleUnits = 2; ///< of TensorPass: some 65,000 values
constexpr std::size_t kMostFull = 4;      ///< attempts that fit the sample and are compared as a whole

/// The layout whose reader computes level x scale and nothing else, of every spec.
const Layout& plainReader() {
    static const Layout layout = plainLayout();
    return layout;
}

/// Rows of a reading in the order that a placement says.
Reading inOrderOf(Reading reading, const Placement& placement, std::int64_t columns) {
    const bool isSame = placement.rows == Placement::Rows::InOrder && placement.offset == 0;
    if (isSame || columns <= 0) return reading;
    const auto size = std::size_t(info(reading.dtype).bits) / 8;
    reading.read = [read = std::move(reading.read), placement, columns, size](std::uint64_t begin, std::size_t n,
                                                                              std::byte* into) {
        while (n > 0) {
            const auto row = std::int64_t(begin) / columns, column = std::int64_t(begin) % columns;
            const auto part = std::min(n, std::size_t(columns - column));
            read(std::uint64_t(placement.rowOf(row) * columns + column), part, into);
            begin += part, n -= part, into += part * size;
        }
    };
    return reading;
}

/// Why a pair of tensors cannot be compared with the values that a spec makes of A.
std::string whyNot(const DiffRow& row) {
    if (row.inA && row.elements < row.a->elements) return "the original holds it as a part of a fused tensor";
    if (row.placement.transposed) return "the export holds it transposed, so its groups are others";
    if (row.placement.permuted()) return "the export holds its rows or columns in an order of its own";
    return {};
}

} // namespace

std::vector<Deriving::Attempt> Deriving::attempts(const std::vector<QuantSpec>& specs, const TensorInfo& tensor,
                                                  bool roundedToo) const {
    std::vector<Attempt> out;
    for (const bool isRounded : {false, true}) {
        if (isRounded && !roundedToo) break;
        for (const QuantSpec& spec : specs) {
            out.push_back({spec, nullptr, isRounded});
            // Layouts whose readers round between their steps; which ones do, some say only of a tensor.
            for (const Layout& layout : layouts())
                if (layout.config && layout.accepts(spec, tensor.shape)) out.push_back({spec, &layout, isRounded});
        }
    }
    return out;
}

Result<std::optional<Differences>> Deriving::tried(const Attempt& attempt, const TensorView& source,
                                                   const Reading& there, std::uint64_t mostUnits) {
    auto measured = MeasuredTensor::of(source, attempt.spec, job_);
    if (!measured) return std::optional<Differences>();
    auto made = inLayout(attempt.layout ? *attempt.layout : plainReader(), std::move(*measured));
    if (!made) return std::optional<Differences>();
    const bool isPlain = !made->fields.readAs && !(attempt.layout && attempt.layout->valueOf);
    if (attempt.layout && isPlain) return std::optional<Differences>(); // the same as without a layout
    auto found = countDifferences(*made, attempt.layout ? *attempt.layout : plainReader(), there, exported_, mostUnits);
    if (!found && (found.error().cancelled || job_.cancelled())) return tl::unexpected(found.error());
    return found ? std::optional(*found) : std::nullopt;
}

Result<Derivation> Deriving::of(const DiffRow& row) {
    Derivation out;
    out.reason = whyNot(row);
    if (!out.reason.empty()) return out;
    auto reading = readingOf(exported_, row.b->name);
    if (!reading) return tl::unexpected(reading.error());
    if (!*reading) {
        out.reason = "no reader here decodes it";
        return out;
    }
    const Reading there = inOrderOf(std::move(**reading), row.placement, Matrix(*row.a).columns);
    const auto source = original_.view(*row.a);
    if (!source) return tl::unexpected(source.error());
    // A program that loads a model in another type of 16 bits quantizes what that type holds.
    const bool isOtherHalf = (there.dtype == DType::F16 || there.dtype == DType::BF16) && there.dtype != row.a->dtype;
    const TensorInfo halved = isOtherHalf ? roundedTensor(*source, there.dtype) : TensorInfo();
    const TensorView halvedView{&halved, {}, nullptr};
    const auto sourceOf = [&](const Attempt& attempt) -> const TensorView& {
        return attempt.isRounded ? halvedView : *source;
    };
    const auto note = [&](const Attempt& attempt) {
        return attempt.isRounded ? fmt::format("of the original rounded to {}", info(there.dtype).id) : std::string();
    };
    const auto certified = specs_.find(row.b->name);
    auto all =
        attempts(candidateSpecs(exported_, row.b->name, certified == specs_.end() ? "" : certified->second.text()),
                 *row.a, isOtherHalf);
    if (all.empty()) {
        out.reason = fmt::format("no spec says how {} is stored", there.type);
        return out;
    }
    if (const auto before = last_.find(there.type); before != last_.end())
        if (isOtherHalf || !before->second.isRounded) all.insert(all.begin(), before->second);

    std::vector<Attempt> fit;
    std::optional<Attempt> nearest;
    for (Attempt& attempt : all) {
        if (job_.cancelled()) return cancelledError();
        const auto sample = tried(attempt, sourceOf(attempt), there, kSampleUnits);
        if (!sample) return tl::unexpected(sample.error());
        if (!*sample) continue;
        attempt.differing = (*sample)->differing;
        if (!nearest || attempt.differing < nearest->differing) nearest = attempt;
        if (attempt.differing > 0) continue;
        fit.push_back(attempt);
        // The one that fitted before, or the first that fits: look at all of it before others are tried.
        const auto whole = tried(attempt, sourceOf(attempt), there, ~std::uint64_t(0));
        if (!whole) return tl::unexpected(whole.error());
        if (!*whole) continue;
        const bool isBetter = out.spec.empty() || (*whole)->differing < out.differences.differing;
        if (isBetter) out.spec = specText(attempt.spec), out.differences = **whole, out.reason = note(attempt);
        if ((*whole)->differing == 0) {
            last_[there.type] = attempt;
            return out;
        }
        if (fit.size() >= kMostFull) break;
    }
    if (!out.spec.empty()) return out;
    if (!nearest) {
        out.reason = fmt::format("no spec that says how {} is stored takes the original", there.type);
        return out;
    }
    const auto whole = tried(*nearest, sourceOf(*nearest), there, ~std::uint64_t(0));
    if (!whole) return tl::unexpected(whole.error());
    if (*whole) out.spec = specText(nearest->spec), out.differences = **whole, out.reason = note(*nearest);
    return out;
}

} // namespace qs
