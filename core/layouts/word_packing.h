// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Codes as GPTQ, compressed-tensors and MLX pack them: a row is one stream of bits, the first code lowest, cut into
// 32-bit words; codes of 3, 5, 6 and 7 bits straddle them.

#include "core/layouts/produce.h"

namespace qs {

inline std::uint64_t wordsOf(std::uint64_t codes, unsigned bits) { return (codes * bits + 31) / 32; }
/// n codes from the beginning of a word on; fills up the last one with zeros.
void packWords(const std::uint8_t* codes, std::size_t n, unsigned bits, std::byte* at);

/// Integer formats whose levels are consecutive integers with zero points among them.
bool hasIntegerCodes(const QuantSpec& spec);
/// What is added to a code to make it the unsigned number of these layouts, in which -2^(bits-1) is 0.
int unsignedOffset(const QuantSpec& spec);
/// Why rows of this shape cannot be cut into words at their groups.
Result<void> hasWholeGroups(const QuantSpec& spec, const ScaleGrid& grid, const char* layout);

/// Rows of unsigned codes as words.
Result<void> producePackedRows(Source& source, const TensorToWrite::Sink& sink);
/// The unsigned codes of columns [first, first + width) of a matrix, one a byte, row by row.
Result<std::vector<std::uint8_t>> codesOfColumns(Source& source, std::uint64_t first, std::uint64_t width);
/// A group's zero point as an unsigned number, that of 0 where there are none; `group` names it where it does not fit.
class UnsignedZero {
public:
    explicit UnsignedZero(const Source& source);
    Result<std::uint8_t> operator()(const GroupParams& params, std::uint64_t group) const;

private:
    const Source* source_;
    int bits_;
    bool has_;
};
/// The same of all groups, in C order of the scales.
Result<std::vector<std::uint8_t>> unsignedZeros(Source& source);
/// The scales, in C order.
Result<std::vector<float>> allScales(Source& source);
Result<void> sinkBytes(const TensorToWrite::Sink& sink, std::span<const std::byte> bytes);

} // namespace qs
