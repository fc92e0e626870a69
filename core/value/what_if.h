// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Measures operations that move, compute or shard a quantized tensor: the error of quantizing the result again, and the
// bytes that one device then holds.

#include "core/base/column.h"
#include "core/base/job.h"
#include "core/base/machine_memory.h"
#include "core/value/deviation.h"
#include "core/value/operand.h"

namespace qs::value {

struct WhatIfRow {
    std::string operation, detail; ///< "transpose", "quantized again"
    Shape shape;                   ///< shape of the result; of one part if sharded
    std::int64_t devices = 1;
    std::optional<std::uint64_t> bytesBefore, bytesPerDevice, bytesTotal;
    std::optional<Deviation> before; ///< Q(W) against W
    std::optional<Deviation> caused; ///< the result against the operation on Q(W)
    std::optional<Deviation> after;  ///< the result against the operation on W
    std::optional<Deviation> direct; ///< the operation on W, quantized once, against the operation on W
    std::string note, reason;        ///< reason: why the operation was refused
};
const Columns<WhatIfRow>& whatIfColumns();

/// What all operations work on.
struct WhatIfSubject {
    Tensor w;
    QuantSpec spec;
    QuantizedTensor codes;
    Tensor decoded;
    std::uint64_t bytes = 0;
};
/// Memory of the operations on a tensor of so many values. The subject asks for it, and so should who reads the tensor.
MemoryNeed whatIfNeed(std::uint64_t values);
Result<WhatIfSubject> whatIfSubject(Tensor w, const QuantSpec& spec, const Job& job);

struct WhatIfOperation {
    const char* id;
    const char* title;
    const char* argument; ///< what to write as the argument: "order of the axes, for example 1,0"
    std::string (*initial)(const Shape& shape);
    std::vector<std::string> (*choices)(const Shape& shape); ///< arguments that fit the shape, offered to the user
    /// A refused argument gives a row with the reason; an Error means a cancelled job.
    Result<std::vector<WhatIfRow>> (*run)(const WhatIfSubject& subject, const std::string& argument, const Job& job);
};
/// transpose, reshape, concatenate, slice, shard, apply, take, convolve.
std::span<const WhatIfOperation> whatIfOperations();

} // namespace qs::value
