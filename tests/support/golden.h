// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The golden vectors of tests/data/golden, read without any code of the workbench.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace qs::test {

struct GoldenTensor {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::vector<std::uint8_t> bytes;
    std::size_t elements() const {
        return std::size_t(std::accumulate(shape.begin(), shape.end(), std::int64_t(1), std::multiplies<>()));
    }
    std::size_t features() const { return shape.empty() ? 1 : std::size_t(shape.back()); }
    std::size_t rows() const { return features() ? elements() / features() : 0; }
    template<class T> std::vector<T> as() const {
        std::vector<T> out(bytes.size() / sizeof(T));
        if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
        return out;
    }
};

struct GoldenFile {
    std::string name;
    std::map<std::string, GoldenTensor> tensors;
    const GoldenTensor& operator[](const std::string& key) const { return tensors.at(key); }
};

inline GoldenFile readGolden(const std::filesystem::path& path) {
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

/// All of them; QS_TEST_DATA is defined by qs_add_test.
inline std::vector<GoldenFile> goldenFiles() {
    std::vector<GoldenFile> files;
    for (const auto& entry : std::filesystem::directory_iterator(QS_TEST_DATA "/golden"))
        if (entry.path().extension() == ".safetensors") files.push_back(readGolden(entry.path()));
    return files;
}

} // namespace qs::test
