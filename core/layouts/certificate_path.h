// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The path of an export's certificate, and its removal when its file is replaced.

#include "core/base/result.h"

#include <string>

namespace qs {

/// certificate.json in a folder; FILE.certificate.json beside a file, so that f.h5 and f.npz have one each.
std::string certificatePathFor(const std::string& output);
/// The certificate that is there; "" if there is none. Earlier versions wrote f.certificate.json: that one counts if it
/// describes this file alone.
std::string certificateOf(const std::string& output);
/// Call it before a file is replaced by one without a certificate.
Result<void> removeCertificate(const std::string& output);

} // namespace qs
