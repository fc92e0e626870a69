// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Writes the StableHLO module for operands and a variant. Weights, scales and tables are arguments of @main. If they
// were constants, the compiler would decode them once and store a dense matrix.

#include "plugins/pjrt/client.h"
#include "plugins/pjrt/geometry.h"
#include "plugins/pjrt/stablehlo.h"

#include <string>
#include <vector>

namespace qs::pjrt {

enum class Role {
    Act,
    ActScale,
    ActMax, ///< the number 127. Not a constant: XLA would then multiply by 1 / 127, which rounds differently
    Codes,
    Scale,
    Table,
    Bias,
};
struct Argument {
    Role role;
    ArraySpec spec;
    bool perRun() const { return role == Role::Act || role == Role::ActScale; }
};

struct Emitted {
    std::string text;
    std::vector<Argument> arguments; ///< in the order of @main
    std::vector<ArraySpec> results;
    std::uint64_t decodedBytes = 0; ///< size of the largest decoded weight in the program: one plane, or all
};

/// `codeType` is the type in which the host stores codes that are not packed. Packed codes are U8.
Emitted emit(const Operands& operands, const Variant& variant, const Geometry& geometry, ElementType codeType);

/// Writes the program of a roof. "f32", "bf16" and "i8" multiply two [side, side] matrices. "read_bw" sums a [side,
/// side] f32 matrix with a dot by ones; "read_bw_reduce" sums it with a reduction.
Emitted emitRoof(const std::string& kind, std::int64_t side);

const char* elementName(ElementType type);

} // namespace qs::pjrt
