// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The ways a problem can be written as a StableHLO program.

#include "plugins/pjrt/operand.h"

#include <string>
#include <vector>

namespace qs::pjrt {

enum class Decode {
    Convert, ///< a number type of XLA's own
    Gather,  ///< table[code], the table an argument
    Select,  ///< a tree of selects over constants: no gather
    Poly5,   ///< eformer's polynomial instead of nf4's table
    Affine,  ///< step * code + bias
};
enum class Planes {
    Joined,      ///< one matrix of all codes, one dot
    Interleaved, ///< a dot for each code of a byte, over every P-th column
    Contiguous,  ///< the same, repacked so that the columns of a plane lie together
};
enum class Compute { F32, BF16, Int8, Int8Blocks };

struct Variant {
    std::string id, title, note;
    std::string product = "f32"; ///< type of the products, as qs_variant::compute
    std::uint32_t flags = 0;     ///< QS_VARIANT_*
    double nmseLimit = 0;
    std::vector<float> levels; ///< of an approximate decode
    Decode decode = Decode::Convert;
    Planes planes = Planes::Joined;
    Compute compute = Compute::F32;
};

/// Never empty for operands that readOperands() took, except for demands (compute, accum) that no program meets.
std::vector<Variant> variantsFor(const Operands& operands);

} // namespace qs::pjrt
