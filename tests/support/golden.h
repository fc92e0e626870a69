// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads the golden vectors in tests/data/golden. Shares no code with the workbench.

#include <cstdint>
#include <cstring>
#include <filesystem>
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

GoldenFile readGolden(const std::filesystem::path& path);
std::vector<GoldenFile> goldenFiles(); ///< all files in tests/data/golden

} // namespace qs::test
