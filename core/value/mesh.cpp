// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/mesh.h"

#include "core/base/text.h"
#include "core/value/split.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qs::value {
namespace {

constexpr std::int64_t kMostDevices = 65536;

const MeshAxis* find(const Mesh& mesh, const std::string& name) {
    const auto at = std::ranges::find_if(mesh.axes, [&](const auto& a) { return a.name == name; });
    return at == mesh.axes.end() ? nullptr : &*at;
}

} // namespace

std::int64_t Mesh::devices() const {
    std::int64_t count = 1;
    for (const MeshAxis& axis : axes) count *= axis.size;
    return count;
}

Result<Mesh> parseMesh(std::string_view text) {
    Mesh mesh;
    for (const std::string_view part : split(text, ',')) {
        const std::size_t equals = part.find('=');
        const std::string name(part.substr(0, equals));
        const std::string_view digits = equals == std::string_view::npos ? "" : part.substr(equals + 1);
        std::int64_t size = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
        if (name.empty() || name == "-" || name.find('+') != std::string::npos || error != std::errc() ||
            end != digits.data() + digits.size() || size < 1 || size > kMostDevices)
            return fail(fmt::format("'{}' is not an axis of a mesh: write for example data=2,model=4",
                                    escapeForPeople(part, 40)));
        if (find(mesh, name)) return fail(fmt::format("the mesh names the axis '{}' twice", escapeForPeople(name, 40)));
        mesh.axes.push_back({name, size});
        if (mesh.devices() > kMostDevices) return fail(fmt::format("a mesh has at most {} devices", kMostDevices));
    }
    return mesh;
}

std::string meshText(const Mesh& mesh) {
    std::vector<std::string> parts;
    for (const MeshAxis& axis : mesh.axes) parts.push_back(fmt::format("{}={}", axis.name, axis.size));
    return fmt::format("{}", fmt::join(parts, ","));
}

Result<Partition> parsePartition(std::string_view text) {
    Partition partition;
    if (text.empty()) return partition;
    for (const std::string_view part : split(text, ',')) {
        auto& names = partition.axes.emplace_back();
        if (part == "-") continue;
        for (const std::string_view name : split(part, '+')) {
            if (name.empty())
                return fail(fmt::format("'{}' does not say which mesh axes cut which tensor axis: write for example "
                                        "model,- or data+model,-",
                                        escapeForPeople(text, 40)));
            names.emplace_back(name);
        }
    }
    return partition;
}

Result<Shape> partsOf(const Mesh& mesh, const Partition& partition, std::span<const std::int64_t> shape) {
    if (partition.axes.size() > shape.size())
        return fail(fmt::format("the partition speaks of {} axes, but {} has {}", partition.axes.size(),
                                shapeText(shape), shape.size()));
    Shape parts(shape.size(), 1);
    std::vector<std::string> used;
    for (std::size_t i = 0; i < partition.axes.size(); ++i) {
        for (const std::string& name : partition.axes[i]) {
            const MeshAxis* axis = find(mesh, name);
            if (!axis)
                return fail(fmt::format("the mesh {} has no axis '{}'", meshText(mesh), escapeForPeople(name, 40)));
            if (std::count(used.begin(), used.end(), name))
                return fail(
                    fmt::format("the mesh axis '{}' cuts the tensor twice: use it once", escapeForPeople(name, 40)));
            used.push_back(name);
            parts[i] *= axis->size;
        }
        if (shape[i] % parts[i])
            return fail(
                fmt::format("axis {} of {} elements does not divide into {} equal parts", i, shape[i], parts[i]));
    }
    return parts;
}

Shape placeOf(const Mesh& mesh, const Partition& partition, std::size_t rank, std::int64_t device) {
    std::vector<std::int64_t> at(mesh.axes.size());
    for (std::size_t i = mesh.axes.size(); i-- > 0; device /= mesh.axes[i].size) at[i] = device % mesh.axes[i].size;
    Shape place(rank, 0);
    for (std::size_t i = 0; i < partition.axes.size() && i < rank; ++i)
        for (const std::string& name : partition.axes[i])
            for (std::size_t a = 0; a < mesh.axes.size(); ++a)
                if (mesh.axes[a].name == name) place[i] = place[i] * mesh.axes[a].size + at[a];
    return place;
}

} // namespace qs::value
