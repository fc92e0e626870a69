// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Where the certificate of an export lies, and what becomes of it when its file is replaced.

#include "core/base/result.h"

#include <string>

namespace qs {

inline constexpr std::size_t kMostCertificate = std::size_t(256) << 20;

/// certificate.json in a folder; FILE.certificate.json beside a file, so that f.h5 and f.npz have one each.
std::string certificatePathFor(const std::string& output);
/// The same, or f.certificate.json, where earlier versions put it, when that speaks of this file alone; "" where there
/// is none.
std::string certificateOf(const std::string& output);
/// Of a file that is about to be replaced by one that has none.
Result<void> removeCertificate(const std::string& output);

} // namespace qs
