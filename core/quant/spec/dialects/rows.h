// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The rows of dialects(), for those that mean one of them: its own layout, its own checks.

#include "core/quant/spec/dialect.h"

namespace qs {

extern const Dialect kEformerDialect;
extern const Dialect kAqtDialect, kAqtMaxDialect, kAqtHalvesDialect;
extern const Dialect kQwixDialect;
extern const Dialect kCompressedTensorsDialect;
extern const Dialect kOcpDialect;
extern const Dialect kMaxTextDialect;
extern const Dialect kBitsandbytes4Dialect; ///< blocks of nf4 and fp4
extern const Dialect kLlmInt8Dialect;       ///< bitsandbytes' rows of bytes
extern const Dialect kMlxDialect;
extern const Dialect kBitNetDialect;
extern const Dialect kGgmlDialect;

/// Rows share ids, so that a spec is asked for the row.
inline bool isOf(const QuantSpec& spec, const Dialect& dialect) { return &dialectOf(spec) == &dialect; }
/// The first key that a program with one calibration, without numbers, does not know; null: none.
const char* keyTooMany(const QuantSpec& spec, const CalibrationTraits& calibration, bool symmetric);
/// No key but the size of a block along the last axis.
Result<void> checkPlainBlocks(const QuantSpec& spec);

} // namespace qs
