// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/hdf5/image.h"

#include "core/model/hdf5/process.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>

namespace qs {
namespace {

constexpr double kSeconds = 60;
constexpr std::uint64_t kHeaders = 1u << 20, kHeadersOfPart = 4096;

} // namespace

Result<std::string> hdf5Image(const std::string& path, const std::map<std::string, std::string>& attributes,
                              const std::vector<Hdf5Text>& texts, const std::vector<Hdf5Table>& tables) {
    std::string data;
    auto parts = nlohmann::json::array();
    const auto add = [&](const std::string& at, bool isText, std::vector<std::uint64_t> shape, const void* values,
                         std::size_t bytes) {
        data.resize((data.size() + 7) / 8 * 8);
        parts.push_back({{"path", at}, {"text", isText}, {"shape", shape}, {"at", data.size()}, {"bytes", bytes}});
        data.append(static_cast<const char*>(values), bytes);
    };
    for (const auto& part : texts) add(part.path, true, {part.text.size()}, part.text.data(), part.text.size());
    for (const auto& part : tables) {
        const auto rows = part.values.size() / std::max<std::size_t>(part.columns, 1);
        add(part.path, false, {rows, part.columns}, part.values.data(), part.values.size() * sizeof(double));
    }
    const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    auto process =
        Hdf5Process::start(path, nothing, data.size() + kHeaders + parts.size() * kHeadersOfPart, "it is not written");
    if (!process) return tl::unexpected(process.error());
    const auto window = (*process)->window();
    std::memcpy(window.data(), data.data(), data.size());
    const auto answer = (*process)->ask({{"call", "write"}, {"parts", parts}, {"attributes", attributes}}, kSeconds);
    if (!answer) return tl::unexpected(answer.error());
    Fields fields(*answer);
    const auto bytes = fields.count("bytes", window.size());
    if (fields.problem()) return (*process)->broken("answered with garbage: " + *fields.problem());
    return std::string(reinterpret_cast<const char*>(window.data()), bytes);
}

} // namespace qs
