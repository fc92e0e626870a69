// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Replaces a file and the certificate beside it together, although no system call renames two files at once. There are
// three steps. 1: the old certificate is replaced by the new one, which holds the old one as "previous". 2: the new
// file gets its name. 3: "previous" is removed. So the certificate describes the file at any time, even if the process
// ends between two steps. If there was no old file, the certificate is written after the file.

#include "core/export/certificate.h"
#include "core/model/output/atomic_file.h"

#include <optional>

namespace qs {

class CertificateChange {
public:
    /// Writes the certificate before the file gets its name, so that a full disk is noticed early. `certificate` must
    /// live as long as the returned object.
    static Result<CertificateChange> prepare(const Certificate& certificate, const std::string& output, const Job& job);
    /// Call these directly before and directly after the file gets its name, while the folder is locked.
    Result<void> before();
    Result<void> after();

private:
    CertificateChange(const Certificate& certificate, std::string output, std::uint64_t bytes, AtomicFile whole)
        : certificate_(&certificate), output_(std::move(output)), bytes_(bytes), whole_(std::move(whole)) {}
    const Certificate* certificate_;
    std::string output_;
    std::uint64_t bytes_; ///< size of the certificate's text
    AtomicFile whole_;
};

} // namespace qs
