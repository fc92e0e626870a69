// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/golden.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace qs::test {

GoldenFile readGolden(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(in)), {});
    std::uint64_t headerBytes = 0;
    std::memcpy(&headerBytes, all.data(), 8);
    const auto header = nlohmann::json::parse(all.substr(8, headerBytes));
    GoldenFile file{path.stem().string(), {}};
    for (const auto& [key, entry] : header.items()) {
        if (key == "__metadata__") continue;
        GoldenTensor tensor{entry.at("dtype"), entry.at("shape"), {}};
        const std::size_t begin = entry.at("data_offsets").at(0), end = entry.at("data_offsets").at(1);
        const auto* data = reinterpret_cast<const std::uint8_t*>(all.data()) + 8 + headerBytes;
        tensor.bytes.assign(data + begin, data + end);
        file.tensors.emplace(key, std::move(tensor));
    }
    return file;
}

std::vector<GoldenFile> goldenFiles() {
    std::vector<GoldenFile> files;
    for (const auto& entry : std::filesystem::directory_iterator(QS_TEST_DATA "/golden"))
        if (entry.path().extension() == ".safetensors") files.push_back(readGolden(entry.path()));
    return files;
}

} // namespace qs::test
