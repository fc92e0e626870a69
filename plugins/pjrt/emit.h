// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// From operands and a variant to a StableHLO module. Weights, scales and tables are arguments of @main: as constants
// they would be folded into a dense matrix.

#include "plugins/pjrt/client.h"
#include "plugins/pjrt/geometry.h"
#include "plugins/pjrt/stablehlo.h"

#include <string>
#include <vector>

namespace qs::pjrt {

enum class Role {
    Act,
    ActScale,
    ActMax, ///< the scalar 127: as a constant, XLA would multiply by its reciprocal and move a rounding
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
    std::vector<Argument> arguments; ///< in their order
    std::vector<ArraySpec> results;
    std::uint64_t decodedBytes = 0; ///< the largest decoded weight that the program speaks of: a plane, or all
};

/// `codeType` is the type in which the host stores unpacked codes (packed ones are U8).
Emitted emit(const Operands& operands, const Variant& variant, const Geometry& geometry, ElementType codeType);

/// The roof programs: "f32", "bf16", "i8" multiply two square matrices of `side`; "read_bw" adds up a [side, side] f32
/// matrix by a dot with ones, "read_bw_reduce" by a reduction.
Emitted emitRoof(const std::string& kind, std::int64_t side);

const char* elementName(ElementType type);

} // namespace qs::pjrt
