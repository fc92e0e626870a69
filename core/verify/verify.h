// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Compares an exported checkpoint, made by any program, with the model that it was made from. The result has the error
// of every tensor, whether it is bit for bit what a spec makes of the original, and its true bits per weight. It also
// compares what the settings of the export say with what its files hold.

#include "core/analysis/audit/claims.h"
#include "core/base/column.h"
#include "core/base/limit.h"
#include "core/export/certificate.h"
#include "core/report/report.h"

namespace qs {

enum class Derives {
    Exact,   ///< every value is what the spec makes of the original
    Differs, ///< no spec that fits its storage makes all of its values
    Unknown  ///< no spec says how it is stored, or there is nothing to compare
};
const char* derivesId(Derives derives); ///< "exact", "differs" or "unknown"

enum class VerifyStatus { Ok, Missing, Added, Refused };
const char* verifyStatusId(VerifyStatus status); ///< "ok", "missing", "added", "refused"

struct VerifiedTensor {
    std::string tensor;   ///< its name in the original; if it was added, its name in the export
    std::string other;    ///< its name in the export; "" if it is missing there
    std::string aligned;  ///< how the two names were matched: see DiffRow
    std::string storedAs; ///< the type of its elements in the export: "bnb-nf4"
    std::string spec;     ///< the spec that it derives from, or comes nearest to; "keep" for a copy; "" if not known
    Derives derives = Derives::Unknown;
    VerifyStatus status = VerifyStatus::Ok;
    std::optional<double> nmse; ///< ||exported - original||^2 / ||original||^2; none where values are NaN or Inf
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;     ///< size in the export: codes, scales and all else that decoding needs
    std::uint64_t differing = 0; ///< number of values that differ from those of the spec
    std::uint64_t zeroSigns = 0; ///< see DiffRow; 0 where it is quantized: there the reader's arithmetic signs a zero
    std::uint64_t nonFinite = 0; ///< number of values that are NaN or Inf on one side and others on the other side
    bool isUnbounded = false;    ///< true: the original is all zeros and the export is not, so that no NMSE bounds it
    bool isQuantized = false;    ///< true: it is stored in fewer bits than a float has
    std::string reason;          ///< what differs, or why nothing is known
    std::optional<double> bpw() const;
};

struct Verification {
    std::vector<VerifiedTensor> tensors; ///< in the order of the original, then added ones
    std::vector<Claim> claims;
    std::optional<CheckedCertificate> certificate;                          ///< the certificate beside the export
    std::uint64_t quantized = 0, quantizedElements = 0, quantizedBytes = 0; ///< tensors stored in fewer bits
    std::uint64_t elements = 0, bytes = 0;                                  ///< of all tensors of the export
    double seconds = 0;
    double bpw() const;      ///< bits per weight of the quantized tensors; NaN if there are none
    double bpwOfAll() const; ///< bits per weight of all tensors
    std::size_t count(Derives derives) const;
    std::size_t count(VerifyStatus status) const;
    std::size_t falseClaims() const;
    std::uint64_t zeroSigns() const; ///< of all tensors
    /// Infinite where a tensor has a NaN or Inf on one side and another value on the other side.
    std::optional<double> largestNmse() const;
};

struct VerifyRequest {
    std::shared_ptr<const Model> original; ///< with its stored tensors decoded: see servedModel()
    std::shared_ptr<const Model> exported; ///< as it was opened
    std::string exportedPath;              ///< path of the export; its certificate is searched there
};
/// Fails if the job is cancelled or a file has changed. Apart from one row for each tensor, the memory is bounded.
Result<Verification> verifyExport(const VerifyRequest& request, const Job& job);

/// The claims of the settings beside the weights, of file names and of metadata.
std::vector<Claim> claimsOf(const Model& exported, const Verification& found);

/// The limits that the option --fail-on accepts.
std::span<const LimitKind> verifyLimits();
/// One sentence about the first limit that is not kept; "" if all are kept.
std::string brokenLimit(const Verification& found, std::span<const Limit> limits);

/// "210 of 272 tensors are quantized at 4.5000 bpw ...; 210 derive exactly, ..."
std::string verificationText(const Verification& found);
const Columns<VerifiedTensor>& verifiedColumns();
const Columns<Claim>& claimColumns();
Result<Report> verifyReport(const VerifyRequest& request, const Verification& found, const std::string& commandLine,
                            const Job& job);

} // namespace qs
