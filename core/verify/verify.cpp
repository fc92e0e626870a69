// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/verify/verify.h"

#include "core/analysis/diff/diff.h"
#include "core/export/written_sizes.h"
#include "core/layouts/certificate_path.h"
#include "core/layouts/serve.h"
#include "core/layouts/stored.h"
#include "core/model/derived_tensor.h"
#include "core/verify/derive.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <limits>
#include <numeric>

namespace qs {
namespace {

/// The bytes of a tensor in the files of the export, and whether they are fewer than its values'.
class StoredSizes {
public:
    explicit StoredSizes(const Model& exported) : exported_(exported), sizes_(exported) {
        for (const auto& [field, name] : storedFields(exported)) fields_[name].push_back(field);
    }
    /// `name`: of the stored tensor, which may hold more than the row.
    Result<void> set(VerifiedTensor& row, const std::string& name) {
        if (const auto own = fields_.find(name); own != fields_.end()) {
            row.isQuantized = true;
            for (const std::string& field : own->second) {
                const auto size = sizes_.find(field);
                if (!size) return tl::unexpected(size.error());
                row.bytes += size->value_or(0);
            }
            return {};
        }
        const TensorInfo* tensor = exported_.find(name);
        if (!tensor) return {};
        row.bytes = storedBytes(*tensor), row.storedAs = tensor->typeId();
        row.isQuantized = tensor->packed || (tensor->derived && !tensor->derived->fields().empty());
        return {};
    }

private:
    const Model& exported_;
    WrittenSizes sizes_;
    std::map<std::string, std::vector<std::string>> fields_;
};

VerifyStatus statusOf(const DiffRow& row) {
    switch (row.status) {
    case DiffStatus::OnlyA: return VerifyStatus::Missing;
    case DiffStatus::OnlyB: return VerifyStatus::Added;
    case DiffStatus::Refused: return VerifyStatus::Refused;
    default: return VerifyStatus::Ok;
    }
}

/// Finds the derivation of a pair of tensors whose values were compared.
Result<void> derive(const DiffRow& row, Deriving& deriving, VerifiedTensor& out) {
    const bool isSame = row.status == DiffStatus::Equal && !out.isQuantized;
    if (isSame) {
        out.spec = "keep", out.derives = Derives::Exact;
        if (out.zeroSigns > 0)
            out.reason = fmt::format("equal but for the bits of {} zeros, which have another sign", out.zeroSigns);
        return {};
    }
    if (tensorOfExpert(row.a->name) || tensorOfExpert(row.b->name)) {
        out.reason = "the two hold experts in different forms, so no spec is tried";
        return {};
    }
    const auto found = deriving.of(row);
    if (!found) return tl::unexpected(found.error());
    out.spec = found->spec;
    if (!found->reason.empty()) out.reason = found->reason;
    if (row.nonFiniteInB > 0 && (found->spec.empty() || found->isExact())) {
        out.derives = Derives::Differs, out.differing = row.nonFiniteInB;
        out.reason = row.reason;
        return {};
    }
    if (found->spec.empty()) return {};
    out.derives = found->isExact() ? Derives::Exact : Derives::Differs;
    out.differing = found->differences.differing;
    if (!found->isExact())
        out.reason = fmt::format("{} of {} values are not those of {}{}{}, first element {}", out.differing,
                                 found->differences.compared, found->spec, found->reason.empty() ? "" : " ",
                                 found->reason, found->differences.first);
    if (!row.reason.empty() && out.reason != row.reason)
        out.reason = row.reason + (out.reason.empty() ? "" : "; " + out.reason); // why there is no NMSE
    return {};
}

void count(Verification& all, const VerifiedTensor& row) {
    if (row.other.empty()) return;
    all.elements += row.elements, all.bytes += row.bytes;
    if (row.isQuantized) ++all.quantized, all.quantizedElements += row.elements, all.quantizedBytes += row.bytes;
}

double bitsPer(std::uint64_t bytes, std::uint64_t elements) {
    return elements ? 8.0 * double(bytes) / double(elements) : std::numeric_limits<double>::quiet_NaN();
}

Result<std::optional<CheckedCertificate>> certificateBeside(const std::string& path, const Job& job) {
    const std::string found = path.empty() ? std::string() : certificateOf(path);
    if (found.empty()) return std::optional<CheckedCertificate>();
    auto checked = checkCertificate(found, job);
    if (!checked) return tl::unexpected(checked.error());
    return std::optional(std::move(*checked));
}

/// The bytes of `part` of `whole` elements; a tensor that cannot be read has none.
std::uint64_t shareOf(std::uint64_t bytes, std::uint64_t part, std::uint64_t whole) {
    return whole ? std::uint64_t(double(bytes) / double(whole) * double(part) + 0.5) : 0;
}

} // namespace

const char* derivesId(Derives derives) {
    return derives == Derives::Exact ? "exact" : derives == Derives::Differs ? "differs" : "unknown";
}

const char* verifyStatusId(VerifyStatus status) {
    switch (status) {
    case VerifyStatus::Ok: return "ok";
    case VerifyStatus::Missing: return "missing";
    case VerifyStatus::Added: return "added";
    case VerifyStatus::Refused: return "refused";
    }
    return "";
}

std::optional<double> VerifiedTensor::bpw() const {
    return elements && bytes ? std::optional(bitsPer(bytes, elements)) : std::nullopt;
}

double Verification::bpw() const { return bitsPer(quantizedBytes, quantizedElements); }
double Verification::bpwOfAll() const { return bitsPer(bytes, elements); }

std::size_t Verification::count(Derives derives) const {
    return std::size_t(std::ranges::count_if(
        tensors, [&](const auto& row) { return row.derives == derives && row.status != VerifyStatus::Missing; }));
}
std::size_t Verification::count(VerifyStatus status) const {
    return std::size_t(std::ranges::count_if(tensors, [&](const auto& row) { return row.status == status; }));
}
std::size_t Verification::falseClaims() const {
    return std::size_t(std::ranges::count_if(claims, [](const Claim& one) { return !one.holds; }));
}
std::uint64_t Verification::zeroSigns() const {
    return std::accumulate(tensors.begin(), tensors.end(), std::uint64_t(0),
                           [](std::uint64_t sum, const VerifiedTensor& row) { return sum + row.zeroSigns; });
}
std::optional<double> Verification::largestNmse() const {
    std::optional<double> most;
    for (const VerifiedTensor& row : tensors)
        if (row.nonFinite > 0 || row.isUnbounded)
            return std::numeric_limits<double>::infinity();
        else if (row.nmse && (!most || *row.nmse > *most))
            most = row.nmse;
    return most;
}

Result<Verification> verifyExport(const VerifyRequest& request, const Job& job) {
    const auto start = std::chrono::steady_clock::now();
    Verification out;
    auto certificate = certificateBeside(request.exportedPath, job);
    if (!certificate) return tl::unexpected(certificate.error());
    out.certificate = std::move(*certificate);
    const auto decoded = servedModel(request.exported, job);
    if (!decoded) return tl::unexpected(decoded.error());
    StoredSizes sizes(*request.exported);
    std::map<std::string, SharedText> specs;
    if (out.certificate) {
        const auto read = out.certificate->certificate.proof.tensors.each([&](const TensorProof& proof) {
            if (!proof.spec.empty()) specs.emplace(proof.name, proof.spec);
            return Result<void>();
        });
        if (!read) return tl::unexpected(read.error());
    }
    const DiffPlan plan = diffPlan(request.original, *decoded);
    Deriving deriving(*plan.a, *request.exported, std::move(specs), job);
    std::vector<std::pair<std::size_t, VerifiedTensor>> rows; ///< with their places in the original
    const auto take = [&](const DiffRow& row) -> Result<void> {
        VerifiedTensor one;
        one.tensor = row.a ? row.a->name : row.b->name;
        if (row.b) one.other = row.b->name, one.storedAs = row.b->typeId();
        one.aligned = row.aligned, one.status = statusOf(row), one.reason = row.reason;
        one.elements = row.elements;
        const auto whole = row.b ? tensorOfExpert(row.b->name) : std::nullopt;
        const TensorInfo* stored = whole ? (*decoded)->find(*whole) : nullptr;
        if (row.b)
            if (auto set = sizes.set(one, stored ? std::string(*whole) : one.other); !set) return set;
        if (stored) one.bytes = shareOf(one.bytes, row.b->elements, stored->elements);
        if (row.status == DiffStatus::Equal || row.status == DiffStatus::Different) {
            one.nmse = row.nmse(), one.nonFinite = row.nonFinite;
            one.zeroSigns = one.isQuantized ? 0 : row.zeroSigns;
            one.isUnbounded = row.power == 0 && row.errorPower > 0;
            if (auto done = derive(row, deriving, one); !done) return done;
        }
        if (row.b && row.b->elements != row.elements) one.bytes = shareOf(one.bytes, row.elements, row.b->elements);
        count(out, one);
        const auto place = row.a ? std::size_t(row.a - plan.a->tensors.data()) : ~std::size_t(0);
        rows.emplace_back(place, std::move(one));
        return {};
    };
    const auto compared = diffModels(plan, job, take);
    if (!compared) return tl::unexpected(compared.error());
    std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [place, row] : rows) out.tensors.push_back(std::move(row));
    out.claims = claimsOf(*request.exported, out);
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return out;
}

} // namespace qs
