// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Makes checkpoints for targets that read several tensors together. The safetensors file is always well formed, so the
// fuzzer changes names, dtypes, shapes, contents and metadata only. Input bytes:
//
//   u16 n, n bytes     config.json
//   u8 n, n times      u8 m, m bytes: a key of __metadata__; u16 m, m bytes: its text
//   to the end         u8 m, m bytes: a name; u8: a dtype, and the rank (0 to 3) in the upper bits; u16 each: its
// shape;
//                      u16 m, m bytes: its contents, repeated as often as needed

#include "core/model/model.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>

namespace qs::fuzz {

class Bytes {
public:
    Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
    bool empty() const { return left_ == 0; }
    unsigned u8() {
        if (left_ == 0) return 0;
        --left_;
        return *data_++;
    }
    unsigned u16() {
        const unsigned low = u8();
        return low | u8() << 8;
    }
    std::string text(std::size_t n) {
        n = std::min(n, left_);
        std::string out(reinterpret_cast<const char*>(data_), n);
        data_ += n, left_ -= n;
        return out;
    }

private:
    const std::uint8_t* data_;
    std::size_t left_;
};

/// A temporary folder of this process, removed at a normal exit.
inline const std::filesystem::path& folder() {
    static const struct Folder {
        std::filesystem::path path;
        Folder() {
            std::string name = (std::filesystem::temp_directory_path() / "quantscope-fuzz-XXXXXX").string();
            if (!::mkdtemp(name.data())) std::abort();
            path = name;
        }
        ~Folder() {
            std::error_code failed;
            std::filesystem::remove_all(path, failed);
        }
    } made;
    return made.path;
}

inline void put(const std::filesystem::path& path, const std::string& text) {
    if (!std::ofstream(path, std::ios::binary).write(text.data(), std::streamsize(text.size()))) std::abort();
}

/// Writes the checkpoint and opens it. Null if the reader refuses it, which is allowed.
inline std::shared_ptr<const Model> openCheckpoint(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMostTensors = 24, kMostBytes = 1 << 18;
    Bytes in(data, size);
    const std::string config = in.text(in.u16());
    nlohmann::json header = nlohmann::json::object(), metadata = nlohmann::json::object();
    for (unsigned n = in.u8() % 8; n > 0; --n) {
        const std::string key = in.text(in.u8());
        metadata[key] = in.text(in.u16());
    }
    if (!metadata.empty()) header["__metadata__"] = metadata;
    std::string contents;
    std::set<std::string> names;
    while (!in.empty() && names.size() < kMostTensors) {
        const std::string name = in.text(in.u8());
        const unsigned type = in.u8();
        const DTypeInfo& dtype = dtypes()[(type & 31) % dtypes().size()];
        std::vector<std::uint64_t> shape(type >> 6);
        std::uint64_t bits = std::uint64_t(dtype.bits);
        for (auto& dim : shape) dim = in.u16(), bits *= dim;
        const std::string pattern = in.text(in.u16());
        if (bits % 8 != 0 || bits / 8 > kMostBytes || !names.insert(name).second) continue;
        const std::size_t begin = contents.size(), bytes = std::size_t(bits / 8);
        contents.resize(begin + bytes, '\0');
        for (std::size_t i = 0; i < bytes && !pattern.empty(); i += pattern.size())
            std::memcpy(contents.data() + begin + i, pattern.data(), std::min(pattern.size(), bytes - i));
        header[name] = {{"dtype", dtype.id}, {"shape", shape}, {"data_offsets", {begin, begin + bytes}}};
    }
    const std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const std::uint64_t length = text.size();
    std::string file(8, '\0');
    std::memcpy(file.data(), &length, 8);
    put(folder() / "model.safetensors", file + text + contents);
    put(folder() / "config.json", config);
    auto model = openModel((folder() / "model.safetensors").string());
    if (model) return *model;
    if (model.error().message.empty()) std::abort();
    return nullptr;
}

} // namespace qs::fuzz
