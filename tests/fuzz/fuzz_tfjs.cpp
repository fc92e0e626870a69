// SPDX-License-Identifier: GPL-3.0-or-later
// A TensorFlow.js model with three shards. Input: the JSON, then the contents of each shard, each after a byte 0xff.
// Tensors must lie inside the shards and read the same for any way of reading.
#include "core/model/derived_tensor.h"
#include "core/model/tfjs/tfjs.h"
#include "tests/fuzz/checkpoint_bytes.h"

namespace {

constexpr std::size_t kMostBytes = 1 << 16; ///< of one shard

/// The text before the first byte 0xff, and the rest. That byte does not occur in JSON.
std::pair<std::string_view, std::string_view> cut(std::string_view text) {
    const auto at = text.find('\xff');
    return at == text.npos ? std::pair(text, std::string_view()) : std::pair(text.substr(0, at), text.substr(at + 1));
}

void readsTheSame(const qs::Model& model, const qs::TensorInfo& tensor) {
    std::uint64_t elements = 1;
    for (const auto dim : tensor.shape) elements *= std::uint64_t(dim);
    if (elements != tensor.elements || tensor.bytes != elements * std::uint64_t(qs::info(tensor.dtype).bits) / 8)
        std::abort();
    const auto view = model.view(tensor);
    if (!view || tensor.bytes > 6 * kMostBytes * 4) std::abort();
    if (tensor.bytes == 0) return;
    std::vector<std::byte> whole(std::size_t(tensor.bytes)), part;
    view->readInto(0, whole);
    for (const std::uint64_t begin : {std::uint64_t(0), tensor.bytes / 3, tensor.bytes - 1}) {
        part.assign(std::size_t(std::min<std::uint64_t>(tensor.bytes - begin, 101)), std::byte(0xAA));
        view->readInto(begin, part);
        if (!std::equal(part.begin(), part.end(), whole.begin() + std::ptrdiff_t(begin))) std::abort();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto [text, rest] = cut({reinterpret_cast<const char*>(data), size});
    const auto manifest = qs::tfjs::parseManifest(text, "model.json");
    if (!manifest) {
        if (manifest.error().message.empty()) std::abort();
        return 0;
    }
    if (!manifest->groups.empty() && manifest->groups.back().end != manifest->weights.size()) std::abort();
    const auto folder = qs::fuzz::folder() / "tfjs";
    std::filesystem::create_directory(folder);
    qs::fuzz::put(folder / "model.json", std::string(text));
    for (const char* name : {"a", "b", "c"}) { // a shard without input is missing
        const auto [shard, more] = cut(rest);
        std::filesystem::remove(folder / name);
        if (!shard.empty()) qs::fuzz::put(folder / name, std::string(shard.substr(0, kMostBytes)));
        rest = more;
    }
    const auto model = qs::openTfjs((folder / "model.json").string());
    if (!model && model.error().message.empty()) std::abort();
    if (model)
        for (const auto& tensor : (*model)->tensors) readsTheSame(**model, tensor);
    return 0;
}
