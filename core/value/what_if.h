// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What happens to a quantized tensor under an operation that moves or computes its values, or that shards it: the error
// that quantizing again causes, and the bytes that one device holds afterwards.

#include "core/base/column.h"
#include "core/base/job.h"
#include "core/value/deviation.h"
#include "core/value/operand.h"

namespace qs::value {

struct WhatIfRow {
    std::string operation, detail; ///< "transpose", "quantized again"
    Shape shape;                   ///< afterwards; of one part when sharded
    std::int64_t devices = 1;
    std::optional<std::uint64_t> bytesBefore, bytesPerDevice, bytesTotal;
    std::optional<Deviation> before; ///< Q(W) against W
    std::optional<Deviation> caused; ///< the result against the operation on Q(W)
    std::optional<Deviation> after;  ///< the result against the operation on W
    std::optional<Deviation> direct; ///< quantizing the operation on W at once
    std::string note, reason;        ///< reason: why it was refused
};
const Columns<WhatIfRow>& whatIfColumns();

/// Inputs that all operations share.
struct WhatIfSubject {
    Tensor w;
    QuantSpec spec;
    QuantizedTensor codes;
    Tensor decoded;
    std::uint64_t bytes = 0;
};
Result<WhatIfSubject> whatIfSubject(Tensor w, const QuantSpec& spec, const Job& job);

struct WhatIfOperation {
    const char* id;
    const char* title;
    const char* argument; ///< what its argument says: "order of the axes, for example 1,0"
    std::string (*initial)(const Shape& shape);
    std::vector<std::string> (*choices)(const Shape& shape); ///< arguments that fit the shape, to choose from
    /// Refusals are rows; an Error is a cancelled job.
    Result<std::vector<WhatIfRow>> (*run)(const WhatIfSubject& subject, const std::string& argument, const Job& job);
};
/// transpose, reshape, concatenate, slice, shard, apply, take, convolve.
std::span<const WhatIfOperation> whatIfOperations();

} // namespace qs::value
