// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// An exported checkpoint against the model that it was made from, whoever made it: the error of every tensor, whether it
// is bit for bit what a spec makes of the original, its true bits per weight, and what its settings say against what its
// files hold.

#include "core/base/column.h"
#include "core/export/certificate.h"
#include "core/report/report.h"
#include "core/verify/limit.h"

namespace qs {

enum class Derives {
    Exact,   ///< every value is what the spec makes of the original
    Differs, ///< of what is known of its storage, no spec makes all of its values
    Unknown  ///< no spec says how it is stored, or there is nothing to compare
};
const char* derivesId(Derives derives); ///< "exact", "differs" or "unknown"

enum class VerifyStatus { Ok, Missing, Added, Refused };
const char* verifyStatusId(VerifyStatus status); ///< "ok", "missing", "added", "refused"

struct VerifiedTensor {
    std::string tensor;   ///< in the original; of an added one in the export
    std::string other;    ///< in the export; "" of a missing one
    std::string aligned;  ///< how they were found to be one: see DiffRow
    std::string storedAs; ///< the type of its elements in the export: "bnb-nf4"
    std::string spec;     ///< that it derives from, or comes nearest to; "keep" of a copy; "": none is known
    Derives derives = Derives::Unknown;
    VerifyStatus status = VerifyStatus::Ok;
    std::optional<double> nmse; ///< ||exported - original||^2 / ||original||^2
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;     ///< in the files of the export: codes, scales and all else that decoding needs
    std::uint64_t differing = 0; ///< values that differ from those of the spec
    bool isQuantized = false;    ///< it is stored in fewer bits than a float has
    std::string reason;          ///< what differs, or why nothing is known
    std::optional<double> bpw() const;
};

/// Something that the settings of the export, its name or its certificate say.
struct Claim {
    std::string who;   ///< "config.json: bits"
    std::string says;  ///< "4"
    std::string found; ///< in the files: "8 in 210 layers"
    bool holds = true;
};

struct Verification {
    std::vector<VerifiedTensor> tensors; ///< in the order of the original, then added ones
    std::vector<Claim> claims;
    std::optional<CheckedCertificate> certificate;                          ///< that lies beside the export
    std::uint64_t quantized = 0, quantizedElements = 0, quantizedBytes = 0; ///< tensors stored in fewer bits
    std::uint64_t elements = 0, bytes = 0;                                  ///< of all tensors of the export
    double seconds = 0;
    double bpw() const;      ///< of the quantized tensors; NaN: there are none
    double bpwOfAll() const; ///< of all tensors
    std::size_t count(Derives derives) const;
    std::size_t count(VerifyStatus status) const;
    std::size_t falseClaims() const;
    std::optional<double> largestNmse() const;
};

struct VerifyRequest {
    std::shared_ptr<const Model> original; ///< with its stored tensors decoded: see servedModel()
    std::shared_ptr<const Model> exported; ///< as it was opened
    std::string exportedPath;              ///< whose certificate is looked for
};
/// Fails if the job is cancelled, or a file changed. Memory is bounded but for a row for every tensor.
Result<Verification> verifyExport(const VerifyRequest& request, const Job& job);

/// Claims of the settings beside the weights, of names and metadata.
std::vector<Claim> claimsOf(std::shared_ptr<const Model> exported, const Verification& found);

/// The words of --fail-on.
std::span<const LimitKind> verifyLimits();
/// The first limit that is broken, as a sentence; "": none is.
std::string brokenLimit(const Verification& found, std::span<const Limit> limits);

/// "210 of 272 tensors are quantized at 4.5000 bpw ...; 210 derive exactly, ..."
std::string verificationText(const Verification& found);
const Columns<VerifiedTensor>& verifiedColumns();
const Columns<Claim>& claimColumns();
Result<Report> verifyReport(const VerifyRequest& request, const Verification& found, const std::string& commandLine,
                            const Job& job);

} // namespace qs
