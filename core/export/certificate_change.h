// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A file and the certificate beside it change together, though no call renames two files at once. First the certificate
// beside the old file is replaced by one that speaks of the new file and holds the old certificate as "previous"; then
// the new file gets its name; then the certificate drops the old one. So whenever the process
// ends, the certificate describes the file that is there. If there was none, it is written after the file.

#include "core/export/certificate.h"
#include "core/model/output/atomic_file.h"

#include <optional>

namespace qs {

class CertificateChange {
public:
    /// Writes the certificate of a file that has no name yet, so that a full disk is known before the name.
    /// `certificate` must stay where it is.
    static Result<CertificateChange> prepare(const Certificate& certificate, const std::string& output, const Job& job);
    /// Right before and right after the file gets its name, under the lock of the folder.
    Result<void> before();
    Result<void> after();

private:
    CertificateChange(const Certificate& certificate, std::string output, std::uint64_t bytes, AtomicFile whole)
        : certificate_(&certificate), output_(std::move(output)), bytes_(bytes), whole_(std::move(whole)) {}
    const Certificate* certificate_;
    std::string output_;
    std::uint64_t bytes_; ///< of its text
    AtomicFile whole_;
};

} // namespace qs
