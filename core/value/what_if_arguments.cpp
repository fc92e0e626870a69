// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/what_if_arguments.h"

#include "core/value/elementwise.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace qs::value {

std::string initialOrder(const Shape& shape) {
    std::vector<std::size_t> order(shape.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (order.size() >= 2) std::swap(order[order.size() - 1], order[order.size() - 2]);
    return fmt::format("{}", fmt::join(order, ","));
}
/// A shape with rows of another length, so that blocks contain other values.
std::string initialShape(const Shape& shape) {
    const std::int64_t elements = elementsOf(shape);
    for (const std::int64_t length : {96, 48, 32})
        if (elements % length == 0 && (shape.empty() || shape.back() != length)) return fmt::format("-1,{}", length);
    return "-1";
}
std::string initialSlice(const Shape& shape) {
    std::string text;
    for (std::size_t i = 0; i + 1 < shape.size(); ++i) text += ":,";
    const std::int64_t size = shape.empty() ? 1 : shape.back();
    return text + fmt::format("{}:{}", size / 8, size);
}
std::string initialMesh(const Shape& shape) {
    const bool four = !shape.empty() && shape.front() % 4 == 0;
    std::string dashes;
    for (std::size_t i = 0; i + 2 < shape.size(); ++i) dashes += ",-";
    // The last axis is halved only if the halves consist of whole blocks of all usual sizes.
    const bool halves = shape.size() >= 2 && shape.back() % 512 == 0;
    if (four && halves) return "data=4,model=2 / data,model" + dashes;
    if (shape.size() < 2) return four ? "data=4 / data" : "model=2 / model";
    return four ? "data=4 / data,-" + dashes : "model=2 / -,model";
}

/// All orders of up to three axes; for more axes, all swaps of two.
std::vector<std::string> orderChoices(const Shape& shape) {
    std::vector<std::size_t> axes(shape.size());
    std::iota(axes.begin(), axes.end(), std::size_t(0));
    std::vector<std::string> out;
    const auto add = [&out](const std::vector<std::size_t>& order) {
        out.push_back(fmt::format("{}", fmt::join(order, ",")));
    };
    if (shape.size() <= 3) {
        do add(axes);
        while (std::next_permutation(axes.begin(), axes.end()));
        return out;
    }
    for (std::size_t i = 0; i < axes.size(); ++i)
        for (std::size_t j = i + 1; j < axes.size(); ++j) {
            auto order = axes;
            std::swap(order[i], order[j]);
            add(order);
        }
    return out;
}
std::vector<std::string> shapeChoices(const Shape& shape) {
    const std::int64_t elements = elementsOf(shape);
    std::vector<std::string> out;
    for (const std::int64_t length : {32, 48, 64, 96, 128, 256, 512, 1024})
        if (elements > 0 && elements % length == 0) out.push_back(fmt::format("-1,{}", length));
    out.push_back("-1");
    return out;
}
std::vector<std::string> axisChoices(const Shape& shape) {
    std::vector<std::string> out;
    for (std::size_t i = 1; i <= std::max<std::size_t>(1, shape.size()); ++i) out.push_back(fmt::format("-{}", i));
    return out;
}
/// The two halves and the last 7/8 of each axis.
std::vector<std::string> sliceChoices(const Shape& shape) {
    std::vector<std::string> out;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        const std::int64_t size = shape[axis];
        for (const auto& [from, to] :
             {std::pair(size / 8, size), std::pair(std::int64_t(0), size / 2), std::pair(size / 2, size)}) {
            std::string text;
            for (std::size_t i = 0; i < shape.size(); ++i)
                text += (i ? "," : "") + (i == axis ? fmt::format("{}:{}", from, to) : std::string(":"));
            out.push_back(text);
        }
    }
    return out;
}
/// A mesh axis for each tensor axis that it divides.
std::vector<std::string> meshChoices(const Shape& shape) {
    std::vector<std::string> out;
    for (const int devices : {2, 4, 8})
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            if (shape[axis] % devices != 0) continue;
            std::string places;
            for (std::size_t i = 0; i < shape.size(); ++i)
                places += std::string(i ? "," : "") + (i == axis ? "model" : "-");
            out.push_back(fmt::format("model={} / {}", devices, places));
        }
    return out;
}

std::vector<std::string> functionChoices(const Shape&) {
    std::vector<std::string> out{"max 0", "pow 2", "pow 3"};
    for (const UnaryOperation& operation : unaryOperations()) out.emplace_back(operation.id);
    for (const BinaryOperation& operation : binaryOperations())
        if (!operation.comparison) out.push_back(fmt::format("{} 0.5", operation.id));
    return out;
}
/// Up to eight evenly spaced indices of each axis; for the first axis also its first and its last ones.
std::vector<std::string> placeChoices(const Shape& shape) {
    constexpr std::int64_t most = 8;
    std::vector<std::string> out;
    const auto add = [&](std::size_t axis, std::int64_t from, std::int64_t step) {
        std::vector<std::int64_t> places;
        for (std::int64_t i = 0; i < std::min(most, shape[axis]); ++i) places.push_back(from + i * step);
        if (!places.empty()) out.push_back(fmt::format("{} / {}", axis, fmt::join(places, ",")));
    };
    for (std::size_t axis = 0; axis < shape.size(); ++axis) add(axis, 0, std::max<std::int64_t>(1, shape[axis] / most));
    if (!shape.empty()) add(0, 0, 1), add(0, std::max<std::int64_t>(0, shape[0] - most), 1);
    return out;
}
std::string initialPlaces(const Shape& shape) {
    const auto choices = placeChoices(shape);
    return choices.empty() ? "0 / 0" : choices.front();
}
std::vector<std::string> kernelChoices(const Shape&) {
    return {"0.25,0.5,0.25 / 1", "0.25,0.5,0.25 / 2", "1,0,-1 / 1", "0.5,0.5 / 2"};
}

} // namespace qs::value
