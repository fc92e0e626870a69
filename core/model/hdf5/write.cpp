// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/hdf5/float8.h"
#include "core/model/hdf5/hdf5_write.h"
#include "core/model/hdf5/process.h"
#include "core/model/tensor_stream.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <set>

namespace qs {
namespace {

using nlohmann::json;

constexpr double kWriteSeconds = 600;
constexpr std::uint64_t kHeaderRoom = 1u << 20, kHeadersOfTensor = 2048;
constexpr std::size_t kLongestHdf5Name = 4000;

/// The types that can be stored: those that HDF5 has, and the 8-bit floats that are stored as U8.
const char* typeOf(DType dtype) {
    for (const auto& row : kHdf5Float8)
        if (row.first == dtype) return "U8";
    return dtype == DType::C64 || info(dtype).bits < 8 ? nullptr : info(dtype).id;
}

json jsonOf(const Hdf5Attributes& attributes) {
    json out = json::object();
    for (const auto& [name, text] : attributes.texts) out[name] = text;
    for (const auto& [name, numbers] : attributes.numbers) out[name] = numbers;
    return out;
}

/// Checks that all names can be paths: each part is a link, and no tensor has the name of a group.
Result<void> checkNames(const TensorsToWrite& tensors, const std::string& path) {
    std::set<std::string> names;
    const auto wrong = [&](const std::string& name, const std::string& why) {
        return fail(fmt::format("{}: tensor {} cannot be written to HDF5: {}.", shownPath(path), quotedName(name), why),
                    path);
    };
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::string name = tensors.nameOf(i);
        if (!names.insert(name).second) return wrong(name, "another has the same name");
        if (name.size() > kLongestHdf5Name) return wrong(name, "its name is too long");
        for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
            end = name.find('/', at);
            const auto part = std::string_view(name).substr(at, end == std::string::npos ? end : end - at);
            if (part.empty() || part == ".") return wrong(name, "its name is no path, in which slashes separate");
        }
        const DType dtype = tensors.kindOf(i).dtype;
        if (!typeOf(dtype)) return wrong(name, fmt::format("HDF5 has no type for {}", info(dtype).id));
    }
    for (const std::string& name : names)
        for (auto slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1))
            if (names.contains(name.substr(0, slash)))
                return wrong(name, fmt::format("{} is a tensor and would have to be a group too",
                                               quotedName(name.substr(0, slash))));
    return {};
}

/// The plan of libhdf5: where the elements of each tensor begin, and all other bytes of the file.
struct Plan {
    std::unique_ptr<Hdf5Process> process; ///< its window holds all bytes that are not elements, in order
    std::vector<std::uint64_t> offsets;   ///< for each tensor; 0 if it has no elements
    std::uint64_t end = 0;
};

Result<Plan> planFile(const std::string& path, const TensorsToWrite& tensors,
                      const std::map<std::string, Hdf5Attributes>& described) {
    json sets = json::array();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto& kind = tensors.kindOf(i);
        const std::string name = tensors.nameOf(i);
        const auto found = described.find(name);
        json attributes = found == described.end() ? json::object() : jsonOf(found->second);
        for (const auto& [dtype, text] : kHdf5Float8)
            if (dtype == kind.dtype) attributes["dtype"] = text;
        sets.push_back({{"path", "/" + name},
                        {"type", typeOf(kind.dtype)},
                        {"shape", kind.shape.sizes()},
                        {"attributes", std::move(attributes)}});
    }
    const auto root = described.find("");
    const std::string text =
        json{{"sets", std::move(sets)}, {"attributes", root == described.end() ? json::object() : jsonOf(root->second)}}
            .dump(-1, ' ', false, json::error_handler_t::replace);
    // Headers and links take some hundred bytes per tensor, plus less than three times the size of its texts.
    const std::uint64_t room = 3 * text.size() + kHeaderRoom + tensors.size() * kHeadersOfTensor;
    const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    auto process = Hdf5Process::start(path, nothing, room, "it is not written");
    if (!process) return tl::unexpected(process.error());
    std::memcpy((*process)->window().data(), text.data(), text.size());
    const auto answer = (*process)->ask({{"call", "plan"}, {"bytes", text.size()}}, kWriteSeconds);
    if (!answer) return tl::unexpected(answer.error());
    Fields fields(*answer);
    Plan plan{nullptr, {}, fields.count("end", INT64_MAX)};
    const auto between = fields.count("between", room);
    if (fields.problem()) return (*process)->broken("answered with garbage: " + *fields.problem());
    const std::uint64_t table = tensors.size() * sizeof(std::uint64_t);
    const std::uint64_t bytes = tensors.bytes();
    if (table > room - between || bytes > plan.end || between != plan.end - bytes)
        return (*process)->broken("answered with garbage: a file of another size");
    plan.offsets.resize(tensors.size());
    std::memcpy(plan.offsets.data(), (*process)->window().data(), table);
    plan.process = std::move(*process);
    return plan;
}

} // namespace

Result<std::uint64_t> writeHdf5(const std::string& path, TensorsToWrite tensors,
                                const std::map<std::string, Hdf5Attributes>& described, const Model* opened,
                                const Job& job, const Naming& naming) {
    if (auto apart = notAnOpenedInput(path, opened); !apart) return tl::unexpected(apart.error());
    if (auto good = checkNames(tensors, path); !good) return tl::unexpected(good.error());
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto bytes = byteCount(tensors.nameOf(i), tensors.kindOf(i), path);
        if (!bytes) return bytes;
        if (__builtin_add_overflow(total, *bytes, &total) || total > std::uint64_t(INT64_MAX))
            return fail(fmt::format("{}: the sizes of the tensors overflow.", shownPath(path)), path);
    }
    auto plan = planFile(path, tensors, described);
    if (!plan) return tl::unexpected(plan.error());
    auto file = AtomicFile::create(path, plan->end);
    if (!file) return tl::unexpected(file.error());

    std::vector<std::size_t> order(tensors.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, [&](auto a, auto b) { return plan->offsets[a] < plan->offsets[b]; });
    std::span<const std::byte> between = plan->process->window().subspan(tensors.size() * sizeof(std::uint64_t));
    std::uint64_t at = 0;
    /// Writes the bytes of libhdf5 up to a place in the file.
    const auto fillTo = [&](std::uint64_t place) -> Result<void> {
        if (place < at || place - at > between.size())
            return plan->process->broken("answered with garbage: tensors over each other");
        if (auto written = file->write(between.first(place - at)); !written) return written;
        between = between.subspan(place - at);
        at = place;
        return {};
    };
    TensorStream stream(*file, path, total, tensors.size(), job);
    for (const auto i : order) {
        const std::uint64_t bytes = tensors.bytesOf(i);
        if (bytes > 0)
            if (auto filled = fillTo(plan->offsets[i]); !filled) return tl::unexpected(filled.error());
        const auto tensor = tensors.make(i);
        if (!tensor) return tl::unexpected(tensor.error());
        if (auto added = stream.add(*tensor, bytes); !added) return tl::unexpected(added.error());
        at += bytes;
    }
    if (auto filled = fillTo(plan->end); !filled) return tl::unexpected(filled.error());
    plan->process->end();
    if (auto named = checkAndCommit(*file, opened, job, naming); !named) return tl::unexpected(named.error());
    return plan->end;
}

} // namespace qs
