// SPDX-License-Identifier: GPL-3.0-or-later
// What an export says of itself against what its files hold.
#include "core/base/text.h"
#include "core/verify/verify.h"

#include <cmath>
#include <fmt/format.h>
#include <map>

namespace qs {
namespace {

/// What the certificate says of bits and specs.
void claimCertificate(const Verification& found, std::vector<Claim>& out) {
    if (!found.certificate) return;
    const Certificate& certificate = found.certificate->certificate;
    out.push_back({"certificate: files", fmt::format("size and SHA-256 of {}", found.certificate->files.size()),
                   checkText(*found.certificate), found.certificate->holds()});
    const double says = certificate.bitsPerWeightOfAll(), is = found.bpwOfAll();
    out.push_back({"certificate: bits per weight over all tensors", fixedText(says, 4), fixedText(is, 4),
                   std::fabs(says - is) < 5e-5});
    std::map<std::string, const VerifiedTensor*> rows;
    for (const VerifiedTensor& row : found.tensors) rows[row.other] = &row;
    std::size_t exact = 0;
    const auto read = certificate.proof.tensors.each([&](const TensorProof& proof) -> Result<void> {
        const auto row = rows.find(proof.name);
        if (proof.spec.empty() || row == rows.end()) return {};
        const bool holds = row->second->derives == Derives::Exact;
        exact += holds;
        if (!holds)
            out.push_back({fmt::format("certificate: {}", escapeForPeople(proof.name, 80)), proof.spec,
                           row->second->reason.empty() ? "not known" : row->second->reason, false});
        return {};
    });
    if (!read) out.push_back({"certificate: specs", "", read.error().sentence(), false});
    if (exact > 0)
        out.push_back(
            {"certificate: specs", fmt::format("of {} tensors", exact), "every value is what the spec makes"});
}

} // namespace

std::vector<Claim> claimsOf(const Model& exported, const Verification& found) {
    std::vector<Claim> out = claimsOfModel(exported);
    claimCertificate(found, out);
    return out;
}

} // namespace qs
