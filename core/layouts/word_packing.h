// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Codes as GPTQ, compressed-tensors and MLX pack them: a row is one stream of bits, the first code lowest, cut into
// 32-bit words; codes of 3, 5, 6 and 7 bits straddle them.

#include "core/layouts/fields.h"

#include <algorithm>

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
SlabCoder rowCoder(const MeasuredTensor& tensor);
/// A group's zero point as an unsigned number, that of 0 where there are none; `group` names it where it does not fit.
class UnsignedZero {
public:
    explicit UnsignedZero(const MeasuredTensor& tensor);
    Result<std::uint8_t> operator()(const GroupParams& params, std::uint64_t group) const;

private:
    const MeasuredTensor* tensor_;
    int bits_;
    bool has_;
};

/// The scales of a layout whose readers compute values in the type of the scales: a group that decodes beyond F16 is refused.
TakeScales readIn(DType type, const MeasuredTensor& tensor, TakeScales take);

/// Collects numbers that come row by row, `perRow` of each, and hands over many rows at a time.
template<typename T> class RowCollector {
public:
    using Take = std::function<Result<void>(std::uint64_t firstRow, std::size_t rows, std::span<const T>)>;
    RowCollector(std::uint64_t rows, std::uint64_t perRow, std::uint64_t atOnce, Take take)
        : rows_(rows), perRow_(perRow), most_(atOnce * perRow), take_(std::move(take)) {}
    Result<void> add(std::span<const T> values) {
        while (!values.empty()) {
            const std::uint64_t all = (rows_ - first_) * perRow_, wanted = std::min(most_, all);
            const auto n = std::size_t(std::min<std::uint64_t>(values.size(), wanted - held_.size()));
            held_.insert(held_.end(), values.begin(), values.begin() + std::ptrdiff_t(n));
            values = values.subspan(n);
            if (held_.size() < wanted) break;
            const auto rows = std::size_t(wanted / perRow_);
            if (auto taken = take_(first_, rows, held_); !taken) return taken;
            first_ += rows;
            held_.clear();
        }
        return {};
    }

private:
    std::uint64_t rows_, perRow_, most_, first_ = 0;
    Take take_;
    std::vector<T> held_;
};
/// Hands unsigned zero points to a collector, less `less`.
TakeScales takeZeros(const MeasuredTensor& tensor, RowCollector<std::uint8_t> rows, int less = 0);

} // namespace qs
