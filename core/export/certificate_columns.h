// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A certificate as tables.

#include "core/base/column.h"
#include "core/export/certificate.h"

namespace qs {

const Columns<TensorProof>& proofColumns();
const Columns<CertifiedFile>& certifiedFileColumns();
const Columns<CheckedFile>& checkedFileColumns();

} // namespace qs
