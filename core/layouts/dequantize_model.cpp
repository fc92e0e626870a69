// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/layouts/stored.h"
#include "core/layouts/taken_tensors.h"
#include "core/layouts/write_model.h"
#include "core/model/conventions/convention.h"

#include <fmt/format.h>
#include <set>

namespace qs {

Result<WrittenFiles> dequantizeModel(const Model& model, std::optional<Decode> decode, const std::string& output,
                                     const Job& job) {
    if (auto fine = namesSafetensors(output); !fine) return tl::unexpected(fine.error());
    std::vector<OutputShard> shards(model.files.size());
    std::set<std::string> fields;
    std::uint64_t decoded = 0, copies = 0;
    for (std::size_t i = 0; i < shards.size(); ++i) {
        shards[i].fileName = shardName(model.files[i]);
        for (const auto& [key, text] : model.files[i].metadata) {
            // A tensor of that name is there: it was stored plain, or in another way that needs no decoding.
            if (key == kConfigKey) continue; // of what is decoded now
            if (!key.starts_with(kStoredPrefix))
                shards[i].metadata[key] = text;
            else if (!model.find(key.substr(kStoredPrefix.size()))) {
                const auto inFile = [&](const Error& error) {
                    return fail(fmt::format("{}: {}", escapeForPeople(model.files[i].path, 160), error.sentence()),
                                model.files[i].path);
                };
                auto stored = parseStored(key, text);
                if (!stored) return inFile(stored.error());
                for (auto& name : stored->fields()) fields.insert(std::move(name));
                auto tensor = decodeStored(model, std::move(*stored), decode);
                if (!tensor) return inFile(tensor.error());
                shards[i].tensors.push_back(std::move(*tensor));
                ++decoded;
            }
        }
    }
    for (const TensorInfo& tensor : model.tensors) {
        if (fields.contains(tensor.name)) continue;
        auto copy = copyOf(model, tensor);
        if (!copy) return tl::unexpected(copy.error());
        shards[tensor.file].tensors.push_back(std::move(*copy));
        ++(tensor.packed || tensor.derived ? decoded : copies);
    }
    auto result = writeModel(model, std::move(shards), output, job);
    if (result) result->quantizedTensors = decoded, result->copiedTensors = copies;
    return result;
}

} // namespace qs
