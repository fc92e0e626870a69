// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Arguments of what-if operations that fit a shape: the initial argument of a field, and those that it offers.

#include "core/value/tensor.h"

#include <string>
#include <vector>

namespace qs::value {

std::string initialOrder(const Shape& shape);
/// A shape with rows of another length, so that blocks contain other values.
std::string initialShape(const Shape& shape);
std::string initialSlice(const Shape& shape);
std::string initialMesh(const Shape& shape);
std::string initialPlaces(const Shape& shape);
/// All orders of up to three axes; for more axes, all swaps of two.
std::vector<std::string> orderChoices(const Shape& shape);
std::vector<std::string> shapeChoices(const Shape& shape);
std::vector<std::string> axisChoices(const Shape& shape);
/// The two halves and the last 7/8 of each axis.
std::vector<std::string> sliceChoices(const Shape& shape);
/// A mesh axis for each tensor axis that it divides.
std::vector<std::string> meshChoices(const Shape& shape);
std::vector<std::string> functionChoices(const Shape& shape);
/// Up to eight evenly spaced indices of each axis; for the first axis also its first and its last ones.
std::vector<std::string> placeChoices(const Shape& shape);
std::vector<std::string> kernelChoices(const Shape& shape);

} // namespace qs::value
