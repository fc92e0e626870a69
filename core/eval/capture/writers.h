// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The functions behind captureKinds().

#include "core/eval/capture/capture.h"

namespace qs::eval {

using SharedModel = std::shared_ptr<const Model>;
Result<Captured> writeRows(SharedModel model, const CapturePlan& plan, const std::string& path, const Job& job);
Result<Captured> writeGrams(SharedModel model, const CapturePlan& plan, const std::string& path, const Job& job);
Result<Captured> writeImatrixGguf(SharedModel model, const CapturePlan& plan, const std::string& path, const Job& job);
Result<Captured> writeImatrixDat(SharedModel model, const CapturePlan& plan, const std::string& path, const Job& job);

} // namespace qs::eval
