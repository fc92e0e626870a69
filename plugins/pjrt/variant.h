// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The variants of a problem: the ways in which it can be written as a StableHLO program.

#include "plugins/pjrt/operand.h"

#include <string>
#include <vector>

namespace qs::pjrt {

enum class Decode {
    Convert, ///< XLA has the number type and converts it
    Gather,  ///< table[code]; the table is an argument
    Select,  ///< a tree of selects over constants; it needs no gather
    Poly5,   ///< eformer's polynomial of degree 5, instead of nf4's table
    Affine,  ///< step * code + bias
};
enum class Planes {
    Joined,      ///< all codes are one matrix; there is one dot
    Interleaved, ///< with P codes in a byte there are P dots, each over every P-th column
    Contiguous,  ///< P dots, and the weights are repacked so that the columns of each plane lie together
};
enum class Compute { F32, BF16, Int8, Int8Blocks };

struct Variant {
    std::string id, title, note;
    std::string product = "f32"; ///< type of the products, as qs_variant::compute
    std::uint32_t flags = 0;     ///< QS_VARIANT_*
    double nmseLimit = 0;
    std::vector<float> levels; ///< values of the codes, if the decode is approximate
    Decode decode = Decode::Convert;
    Planes planes = Planes::Joined;
    Compute compute = Compute::F32;
};

/// All variants for operands that readOperands() accepted. It is empty only if no program has the required types of
/// products and sums.
std::vector<Variant> variantsFor(const Operands& operands);

} // namespace qs::pjrt
