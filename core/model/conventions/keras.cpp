// SPDX-License-Identifier: GPL-3.0-or-later
// Layers that Keras 3 quantized to int8 or int4: the variables of a layer have numbers, X/vars/0 and so on, in the order
// codes, bias (if any), scales, zero points, group of each input. Sources: keras 3.15 `layers/core/{dense,einsum_dense,
// embedding}.py` (variable_serialization_spec) and `quantizers/quantizers.py`.
//   value = code / scale; with groups (code - zero) * scale.
// Scales belong to columns (Dense, EinsumDense) or rows (Embedding). Codes of 4 bits are packed along the columns, the
// first in the low bits; their number of columns is that of the scales.
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/row_coded.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>

namespace qs {
namespace {

constexpr std::string_view kEnds[] = {"/vars/0"};
constexpr const char* kTypes[] = {"Keras-int8", "Keras-int4"};
constexpr std::size_t kMostVars = 9;                        ///< more than a layer of these has
constexpr std::uint64_t kLooked = 32;                       ///< rows or columns whose codes are looked at
constexpr std::uint64_t kFitted = 512, kFittedCodes = 1024; ///< groups, and codes of each
constexpr double kBelongs = 5, kForeign = 2.5;              ///< scaleFit() of scales that do, and that do not
constexpr int kLargest[] = {127, 7};                        ///< the code of the largest value under a scale

/// The codes as a matrix, and where the scales of a value are.
struct KerasCoding {
    std::vector<std::int64_t> shape;
    std::uint64_t rows = 0, columns = 0, groups = 1;
    unsigned bits = 8;
    bool byRow = false;               ///< scales belong to rows; otherwise to columns
    std::vector<std::uint32_t> group; ///< of each column (byRow) or row; empty: there are no groups and no zero points
    std::uint64_t rowBytes() const { return (columns * bits + 7) / 8; }
};

class KerasLayer final : public Layer {
public:
    KerasLayer(KerasCoding coding, std::vector<Field> fields)
        : Layer({kTypes[coding.bits == 4], describe(coding), fields[1].info.dtype, coding.shape, std::move(fields)}),
          coding_(std::move(coding)) {}

    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        while (n > 0) {
            const std::uint64_t row = begin / coding_.columns, column = begin % coding_.columns;
            const auto part = std::size_t(std::min<std::uint64_t>(n, coding_.columns - column));
            rowValues(row, column, part, out);
            begin += part, n -= part, out += part;
        }
    }
    /// The largest absolute code in a row or column.
    int largestCode(bool ofRow, std::uint64_t which) const {
        int most = 0;
        std::vector<float> codes;
        for (std::uint64_t r = ofRow ? which : 0; r < (ofRow ? which + 1 : coding_.rows); ++r) {
            readCodes(r, ofRow ? 0 : which, ofRow ? std::size_t(coding_.columns) : 1, codes);
            for (const float code : codes) most = std::max(most, std::abs(int(code)));
        }
        return most;
    }
    /// How well the scales belong to the codes: a group with a large largest value has small codes. The correlation of
    /// ln scale with ln of the size of the codes, times the square root of the number of groups: about 0 if they do not.
    double scaleFit() const {
        const auto count = std::size_t(std::min(kFitted, coding_.byRow ? coding_.rows : coding_.columns));
        std::vector<double> squares(count);
        std::vector<float> codes;
        for (std::uint64_t r = 0; r < (coding_.byRow ? count : std::min(kFittedCodes, coding_.rows)); ++r) {
            readCodes(r, 0, coding_.byRow ? std::size_t(std::min(kFittedCodes, coding_.columns)) : count, codes);
            for (std::size_t i = 0; i < codes.size(); ++i)
                squares[coding_.byRow ? std::size_t(r) : i] += double(codes[i]) * double(codes[i]);
        }
        const auto scales = field(1).floats(0, count);
        double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (!(scales[i] > 0) || squares[i] <= 0) continue;
            const double a = std::log(double(scales[i])), b = 0.5 * std::log(squares[i]);
            n += 1, x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
        }
        const double spread = (xx - x * x / n) * (yy - y * y / n);
        return n > 2 && spread > 0 ? (xy - x * y / n) / std::sqrt(spread) * std::sqrt(n) : 0;
    }
    const KerasCoding& kerasCoding() const { return coding_; }

private:
    static std::string describe(const KerasCoding& coding) {
        return fmt::format("Keras int{}, a scale for each {}{}", coding.bits, coding.byRow ? "row" : "column",
                           coding.group.empty() ? ""
                                                : fmt::format(" and group ({} groups), zero points", coding.groups));
    }
    void readCodes(std::uint64_t row, std::uint64_t column, std::size_t n, std::vector<float>& out) const {
        out.resize(n);
        const std::uint64_t first = column * coding_.bits / 8, end = ((column + n) * coding_.bits + 7) / 8;
        const auto bytes = field(0).octets(row * coding_.rowBytes() + first, std::size_t(end - first));
        for (std::size_t i = 0; i < n; ++i) {
            if (coding_.bits == 8) {
                out[i] = float(std::int8_t(bytes[i]));
                continue;
            }
            const std::uint64_t at = column + i;
            const int nibble = bytes[std::size_t(at / 2 - first)] >> (at % 2 * 4) & 15;
            out[i] = float((nibble ^ 8) - 8);
        }
    }
    void rowValues(std::uint64_t row, std::uint64_t column, std::size_t n, float* out) const {
        thread_local std::vector<float> codes;
        readCodes(row, column, n, codes);
        if (coding_.group.empty()) {
            const auto scales = field(1).floats(coding_.byRow ? row : column, coding_.byRow ? 1 : n);
            for (std::size_t i = 0; i < n; ++i) out[i] = codes[i] / scales[coding_.byRow ? 0 : i];
            return;
        }
        // Of a row: its groups. Of columns: those of the group that the row is in.
        const std::uint64_t from =
            coding_.byRow ? row * coding_.groups : coding_.group[std::size_t(row)] * coding_.columns + column;
        const auto count = coding_.byRow ? std::size_t(coding_.groups) : n;
        const auto scales = field(1).floats(from, count), zeros = field(2).floats(from, count);
        for (std::size_t i = 0; i < n; ++i) {
            const auto at = coding_.byRow ? std::size_t(coding_.group[std::size_t(column) + i]) : i;
            out[i] = (codes[i] - zeros[at]) * scales[at];
        }
    }
    KerasCoding coding_;
};

using KerasRead = Result<std::shared_ptr<const Layer>>;

/// The variables behind the codes.
struct Variables {
    const TensorInfo *codes = nullptr, *bias = nullptr, *scales = nullptr, *zeros = nullptr, *groups = nullptr;
};

bool isKerasFloat(const TensorInfo* tensor) {
    return tensor && (tensor->dtype == DType::F32 || tensor->dtype == DType::F16 || tensor->dtype == DType::BF16);
}

/// The sizes of a shape that are not 1.
std::vector<std::int64_t> sizesOf(const TensorShape& shape) {
    std::vector<std::int64_t> sizes;
    std::ranges::copy_if(shape, std::back_inserter(sizes), [](std::int64_t size) { return size != 1; });
    return sizes;
}

/// Names of all variables of a layer, by their numbers.
std::vector<std::string> variableNames(const Checkpoint& checkpoint, const std::string& stem) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i <= kMostVars && checkpoint.find(stem + std::to_string(i)); ++i)
        names.push_back(stem + std::to_string(i));
    return names;
}

/// What each variable is, by its place and type.
Result<Variables> variablesOf(const Checkpoint& checkpoint, const std::vector<std::string>& names) {
    std::vector<const TensorInfo*> all;
    for (const std::string& name : names) all.push_back(checkpoint.find(name));
    Variables out{all.front()};
    std::size_t floats = 1; // the place behind the first one or two float variables, which are bias and scales
    while (floats < all.size() && floats < 3 && isKerasFloat(all[floats])) ++floats;
    if (floats == 1) return fail("its codes have no scales");
    const bool hasGroups = floats < all.size();
    if (hasGroups && (all[floats]->dtype != DType::I8 || floats + 2 != all.size() || !isKerasFloat(all[floats + 1])))
        return fail(
            fmt::format("it has {} variables, which are none of a Dense, EinsumDense or Embedding layer", all.size()));
    out.scales = all[floats - 1], out.bias = floats == 3 ? all[1] : nullptr;
    if (hasGroups) out.zeros = all[floats], out.groups = all[floats + 1];
    return out;
}

/// The group of each column or row, which Keras stores as floats.
Result<std::vector<std::uint32_t>> groupsFrom(const Field& field, std::uint64_t count) {
    std::vector<std::uint32_t> groups;
    for (const float group : field.floats(0, std::size_t(field.info.elements))) {
        if (!(group >= 0 && group < float(count) && group == std::floor(group)))
            return fail(
                fmt::format("{} holds {}, which is none of {} groups", quotedName(field.info.name), group, count));
        groups.push_back(std::uint32_t(group));
    }
    return groups;
}

/// All readings that the shapes allow.
Result<std::vector<std::shared_ptr<const KerasLayer>>> readingsOf(const Checkpoint& checkpoint, const Variables& vars) {
    const auto& stored = vars.codes->shape;
    std::vector<std::shared_ptr<const KerasLayer>> found;
    std::vector<Field> fields{checkpoint.field(*vars.codes), checkpoint.field(*vars.scales)};
    const auto rows = std::uint64_t(stored[0]), packed = std::uint64_t(stored[1]), scales = vars.scales->elements;
    const auto isPacked = [&](std::uint64_t columns) { return stored.size() == 2 && (columns + 1) / 2 == packed; };
    const auto add = [&](KerasCoding coding) {
        if (coding.shape.empty()) coding.shape = {std::int64_t(coding.rows), std::int64_t(coding.columns)};
        found.push_back(std::make_shared<const KerasLayer>(std::move(coding), fields));
    };
    if (vars.groups) {
        const auto& shape = vars.scales->shape;
        if (stored.size() != 2 || shape.size() != 2 || vars.zeros->shape != shape || vars.groups->shape.size() != 1)
            return fail(fmt::format("its scales {} and zero points {} do not belong together", shapeText(shape),
                                    shapeText(vars.zeros->shape)));
        fields.push_back(checkpoint.field(*vars.zeros)), fields.push_back(checkpoint.field(*vars.groups));
        const auto first = std::uint64_t(shape[0]), second = std::uint64_t(shape[1]), listed = vars.groups->elements;
        for (const bool byRow : {false, true}) {
            const std::uint64_t columns = byRow ? listed : second, count = byRow ? second : first;
            if (!isPacked(columns) || (byRow ? first : listed) != rows) continue;
            auto group = groupsFrom(fields.back(), count);
            if (!group) return tl::unexpected(group.error());
            add({{}, rows, columns, count, 4, byRow, std::move(*group)});
        }
        return found;
    }
    // Scales of int8 have the sizes of the first or of the last axes of the codes.
    const auto sizes = sizesOf(stored), ofScales = sizesOf(vars.scales->shape);
    const std::vector<std::int64_t> whole(stored.begin(), stored.end());
    if (scales == 1)
        add({whole, 1, vars.codes->elements, 1, 8, true, {}});
    else if (ofScales.size() <= sizes.size()) {
        if (std::equal(ofScales.rbegin(), ofScales.rend(), sizes.rbegin()))
            add({whole, vars.codes->elements / scales, scales, 1, 8, false, {}});
        if (std::equal(ofScales.begin(), ofScales.end(), sizes.begin()))
            add({whole, scales, vars.codes->elements / scales, 1, 8, true, {}});
    }
    if (vars.scales->shape.size() == 1 && isPacked(scales)) add({{}, rows, scales, 1, 4, false, {}});
    if (vars.scales->shape.size() == 1 && scales == rows && stored.size() == 2 && !vars.bias) {
        const std::uint64_t columns = 2 * packed;
        const auto last = std::make_shared<const KerasLayer>(KerasCoding{whole, rows, columns, 1, 4, true, {}}, fields);
        // The file does not say the width of an embedding. Of an odd one, the codes behind the last column are 0.
        const bool isOdd = last->largestCode(false, columns - 1) == 0;
        add({{}, rows, isOdd ? columns - 1 : columns, 1, 4, true, {}});
    }
    return found;
}

/// Keras' scales come from the largest value of their group, whose code is then the largest there is.
bool usesAllCodes(const KerasLayer& layer) {
    const KerasCoding& coding = layer.kerasCoding();
    if (!coding.group.empty()) return true; // these have zero points
    const int most = kLargest[coding.bits == 4], least = coding.bits == 4 ? most : most - 1;
    for (std::uint64_t i = 0; i < std::min(kLooked, coding.byRow ? coding.rows : coding.columns); ++i) {
        const int largest = layer.largestCode(coding.byRow, i);
        if ((largest != 0 && largest < least) || largest > most) return false;
    }
    return true;
}

/// The one reading whose scales clearly belong to their codes; null if it is not one.
std::shared_ptr<const KerasLayer> clearest(const std::vector<std::shared_ptr<const KerasLayer>>& readings) {
    std::vector<std::pair<double, std::shared_ptr<const KerasLayer>>> fits;
    for (const auto& one : readings) fits.emplace_back(one->scaleFit(), one);
    std::ranges::sort(fits, std::greater(), [](const auto& fit) { return fit.first; });
    return fits.size() > 1 && fits[0].first > kBelongs && fits[1].first < kForeign ? fits[0].second : nullptr;
}

KerasRead readKeras(const Checkpoint& checkpoint, const Variables& vars) {
    auto readings = readingsOf(checkpoint, vars);
    if (!readings) return tl::unexpected(readings.error());
    if (readings->empty())
        return fail(fmt::format("its scales {} fit no axis of its codes {}", shapeText(vars.scales->shape),
                                shapeText(vars.codes->shape)));
    if (readings->size() > 1) std::erase_if(*readings, [](const auto& one) { return !usesAllCodes(*one); });
    if (readings->size() == 1) return readings->front();
    if (const auto one = clearest(*readings)) return one;
    return fail("its shapes fit rows and columns, and its codes do not tell which of them the scales belong to");
}

void take(Checkpoint& checkpoint, const TensorInfo& field, std::string_view) {
    const std::string name = field.name, stem = name.substr(0, name.size() - 1);
    auto names = variableNames(checkpoint, stem);
    // GPTQ and AWQ have bytes without a sign, behind the bias if there is one. Behind them are the scales of groups, and
    // the zero points in bytes or, as Keras 3.15 writes GPTQ, the group of each input: it does not store zero points.
    const auto isOf = [&](std::size_t i, std::size_t rank, bool isBytes) {
        const TensorInfo* one = i < names.size() ? checkpoint.find(names[i]) : nullptr;
        return one && one->shape.size() == rank && (isBytes ? one->dtype == DType::U8 : isKerasFloat(one));
    };
    for (const std::size_t at : {0, 1})
        if (isOf(at, 2, true) && (isOf(at + 2, 2, true) || (isOf(at + 1, 2, false) && isOf(at + 2, 1, false)))) {
            names.erase(names.begin(), names.begin() + std::ptrdiff_t(at));
            checkpoint.take(kKerasConvention, name, Evidence::Alike, fail("GPTQ and AWQ of Keras are not decoded"),
                            names);
            return;
        }
    if (field.dtype != DType::I8 || field.shape.size() < 2 || field.elements == 0 || names.size() < 2) return;
    const auto vars = variablesOf(checkpoint, names);
    if (!vars) return checkpoint.take(kKerasConvention, name, Evidence::Alike, tl::unexpected(vars.error()), names);
    if (vars->bias) names.erase(names.begin() + 1);
    checkpoint.take(kKerasConvention, name, Evidence::Shaped, readKeras(checkpoint, *vars), names);
}

} // namespace

const Convention kKerasConvention = {
    "keras", "Keras", "numbered variables of Keras 3: I8 codes, then scales of the sizes of their axes",
    kTypes,  kEnds,   take};

} // namespace qs
