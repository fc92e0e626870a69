// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Writes the part of a program that turns stored codes into numbers.

#include "plugins/pjrt/geometry.h"
#include "plugins/pjrt/stablehlo.h"

#include <vector>

namespace qs::pjrt {

/// eformer decodes nf4 with a polynomial in the code. Returns its values, if they are close enough to the levels of the
/// weight; else an empty list. The weight may have nf4's own levels, or those of decode=poly.
std::vector<float> polynomialLevels(const Weight& weight);

class Decoder {
public:
    Decoder(Program& program, const Weight& weight, const Variant& variant, const Geometry& geometry, Value codes,
            Value scale, Value table)
        : p_(program), w_(weight), v_(variant), g_(geometry), codes_(codes), scale_(scale), table_(table) {}

    int planes() const { return v_.planes == Planes::Joined ? 1 : w_.perByte; }
    /// The numbers of one plane, times their block scales, in the type `element`. If the planes are joined there is
    /// one.
    Value plane(int index, const std::string& element);

private:
    Value unpackPlane(int index);
    Value unpackJoined();
    Value decode(const Value& codes, const std::string& element);
    Value selectTree(const Value& codes);
    Value polynomial(const Value& codes);
    Value affine(const Value& codes, const std::string& element);
    Value blockScales(int index, const Dims& dims);

    Program& p_;
    const Weight& w_;
    const Variant& v_;
    const Geometry& g_;
    Value codes_, scale_, table_;
    std::vector<Value> levels_; ///< the levels as constants, for the tree of selects
};

} // namespace qs::pjrt
