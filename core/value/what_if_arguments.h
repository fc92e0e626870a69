// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Arguments of what-if operations that fit a shape: what a field begins with, and what it offers.

#include "core/value/tensor.h"

#include <string>
#include <vector>

namespace qs::value {

std::string initialOrder(const Shape& shape);
/// Rows of another length, so that blocks hold other neighbours.
std::string initialShape(const Shape& shape);
std::string initialSlice(const Shape& shape);
std::string initialMesh(const Shape& shape);
std::string initialPlaces(const Shape& shape);
/// All orders of up to three axes; of more, those that swap two.
std::vector<std::string> orderChoices(const Shape& shape);
std::vector<std::string> shapeChoices(const Shape& shape);
std::vector<std::string> axisChoices(const Shape& shape);
/// The two halves and the last 7/8 of each axis.
std::vector<std::string> sliceChoices(const Shape& shape);
/// One mesh axis over each axis that it divides.
std::vector<std::string> meshChoices(const Shape& shape);
std::vector<std::string> functionChoices(const Shape& shape);
/// Up to eight places of each axis, evenly spaced; of the first axis, its first and last ones too.
std::vector<std::string> placeChoices(const Shape& shape);
std::vector<std::string> kernelChoices(const Shape& shape);

} // namespace qs::value
