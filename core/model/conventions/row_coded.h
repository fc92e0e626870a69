// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Layers whose rows are streams of codes, lowest bits first, with scales (zero points, biases) of groups of columns.

#include "core/model/conventions/layer.h"

#include <array>

namespace qs {

enum class ScaleCoding { Plain, E8m0, E4m3 }; ///< as the dtype says; bytes that are exponents; bytes that are floats

struct RowCoding {
    const char* type;
    std::string description;
    DType dtype;
    std::vector<std::int64_t> shape;
    std::vector<Field> fields; ///< codes and scales first

    unsigned bits = 8;
    unsigned perWord = 0; ///< codes in a word of 32 bits, where no code crosses words; 0: they follow each other
    std::uint64_t rowBytes = 0;
    const float* levels = nullptr; ///< of every code; lives as long as the program
    std::uint64_t group = 0;       ///< columns that share a scale
    std::uint64_t rowsPerScale = 1;
    ScaleCoding scaleCoding = ScaleCoding::Plain;
    int zeros = -1, biases = -1, global = -1; ///< places in `fields`; global divides the scales, or
    bool globalMultiplies = false;            ///< multiplies them
    unsigned zeroBits = 0;                    ///< zero points packed along rows, in words of 32 bits; 0: one an element
    std::vector<std::uint32_t> order;         ///< the group of each column, where they are not in order
    bool roundsProducts = false;              ///< scale times code is rounded to the dtype before the bias is added
};

/// The value is (level - zero) scale + bias in f32.
std::shared_ptr<const Layer> rowCodedLayer(RowCoding coding);

/// Columns of scales: ceil(columns / group).
std::int64_t groupsOf(std::int64_t columns, std::int64_t group);

const float* integerLevels(unsigned bits); ///< code - 2^(bits - 1)
const float* unsignedLevels();             ///< the code itself
const float* signedByteLevels();           ///< the code as I8
const float* e4m3Levels();
const float* e5m2Levels();
const float* e2m1Levels();

/// A field of column numbers of groups: empty where each column is in the group of its place.
Result<std::vector<std::uint32_t>> readOrder(const Field& field, std::uint64_t group, std::uint64_t groups);

} // namespace qs
