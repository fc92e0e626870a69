// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/layouts/conv1d.h"
#include "core/layouts/stored.h"
#include "core/layouts/taken_tensors.h"
#include "core/layouts/write_model.h"
#include "core/model/computed_type.h"
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/undecoded.h"
#include "core/model/output_axis.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <set>

namespace qs {

namespace {

/// NaN and Inf have an exponent of ones.
template<class Bits> bool hasExponentOfOnes(std::span<const std::byte> bytes, Bits exponent) {
    for (std::size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
        Bits bits;
        std::memcpy(&bits, bytes.data() + at, sizeof bits);
        if ((bits & exponent) == exponent) return true;
    }
    return false;
}

bool hasNonFinite(std::span<const std::byte> bytes, DType dtype) {
    if (dtype == DType::F32) return hasExponentOfOnes(bytes, std::uint32_t(0x7f800000));
    return hasExponentOfOnes(bytes, std::uint16_t(dtype == DType::F16 ? 0x7c00 : 0x7f80));
}

/// The tensor, whose writing fails at the first value that is not finite: a damaged scale must not become weights.
TensorToWrite finiteOnly(TensorToWrite tensor) {
    const DType dtype = tensor.dtype;
    if (tensor.packed || (dtype != DType::F32 && dtype != DType::F16 && dtype != DType::BF16)) return tensor;
    tensor.together = nullptr;
    tensor.produce = [produce = std::move(tensor.produce), name = tensor.name,
                      dtype](const TensorToWrite::Sink& sink) -> Result<void> {
        return produce([&](std::span<const std::byte> bytes) -> Result<void> {
            if (hasNonFinite(bytes, dtype))
                return fail(fmt::format("{} decodes to NaN or Inf, so nothing was written: `audit` shows what is wrong",
                                        quotedName(name)));
            return sink(bytes);
        });
    };
    return tensor;
}

/// The sources of the lists are the tensors of the model, and behind them what its metadata describes.
class Decoding final : private TensorMaker {
public:
    Decoding(const Model& model, std::optional<Decode> decode)
        : model_(model), decode_(decode), hasConv1d_(isConv1dType(readCheckpointConfig(model).modelType)) {}

    Result<WrittenFiles> run(const std::string& output, bool copyAll, const Job& job) {
        std::vector<OutputShard> shards;
        for (const ModelFile& file : model_.files) {
            OutputShard& shard = shards.emplace_back(shardName(file), TensorsToWrite(*this));
            shard.metadata = metadataToCopy(file);
            std::erase_if(shard.metadata, [](const auto& entry) { return entry.first.starts_with(kStoredPrefix); });
            shard.metadata[kDecodedMark] = "decoded";
            for (const auto& [key, text] : file.metadata) {
                // A tensor of that name is there: it was stored plain, or in another way that needs no decoding.
                if (!key.starts_with(kStoredPrefix) || model_.find(std::string_view(key).substr(kStoredPrefix.size())))
                    continue;
                stored_.push_back({&file, &key, &text});
                auto stored = storedOf(stored_.back());
                if (!stored) return tl::unexpected(stored.error());
                for (auto& name : stored->fields()) fields_.insert(std::move(name));
                if (auto added = add(shard, std::uint32_t(model_.tensors.size() + stored_.size() - 1)); !added)
                    return tl::unexpected(added.error());
            }
        }
        for (OutputShard& shard : shards) forgetDecoded(model_, shard.metadata);
        std::uint64_t decoded = stored_.size(), copies = 0;
        for (std::uint32_t i = 0; i < model_.tensors.size(); ++i) {
            const TensorInfo& tensor = model_.tensors[i];
            if (fields_.contains(tensor.name)) continue;
            // Loaders would take the plain tensors for quantized ones.
            if (isMarker(tensor.name) && model_.undecoded.empty()) continue;
            if (auto added = add(shards[tensor.file], i); !added) return tl::unexpected(added.error());
            ++(tensor.packed || tensor.derived || isWidened(tensor) ? decoded : copies);
        }
        Finish finish;
        finish.copyAll = copyAll;
        auto result = writeModel(model_, std::move(shards), output, job, finish);
        if (!result) return result;
        result->quantizedTensors = decoded, result->copiedTensors = copies;
        if (const std::string beyond = beyondText(); !beyond.empty()) result->remarks.push_back(beyond);
        return result;
    }

private:
    struct Stored {
        const ModelFile* file;
        const std::string *key, *text; ///< of its metadata
        std::uint64_t beyond = 0;      ///< see StoredValues, once it is written
    };

    std::string_view nameOf(std::uint32_t source) const override {
        if (source < model_.tensors.size()) return model_.tensors[source].name;
        return std::string_view(*stored_[source - model_.tensors.size()].key).substr(kStoredPrefix.size());
    }
    Result<TensorToWrite> make(std::uint32_t source, std::uint32_t) override {
        if (source < model_.tensors.size()) return valuesOf(model_.tensors[source]);
        Stored& from = stored_[source - model_.tensors.size()];
        auto stored = storedOf(from);
        if (!stored) return tl::unexpected(stored.error());
        auto tensor = decodeStored(model_, std::move(*stored), decode_, &from.beyond);
        if (!tensor) return inFile(from, tensor.error());
        return finiteOnly(std::move(*tensor));
    }

    /// Plain floats of 8 bits, which are written as BF16.
    static bool isWidened(const TensorInfo& tensor) {
        return computedType(tensor.dtype) != tensor.dtype && !tensor.derived && tensor.role != TensorRole::Part;
    }
    /// A copy, or the values of what is widened or turned.
    Result<TensorToWrite> valuesOf(const TensorInfo& tensor) const {
        if (hasConv1d_ && isStoredTurned(model_, tensor)) return turnedBack(model_, tensor);
        if (!isWidened(tensor)) {
            auto copy = copyOf(model_, tensor);
            if (!copy || !(tensor.derived || tensor.packed)) return copy; // a plain tensor is copied bit for bit
            return finiteOnly(std::move(*copy));
        }
        const DType dtype = computedType(tensor.dtype);
        auto view = model_.view(tensor);
        if (!view) return tl::unexpected(view.error());
        return finiteOnly({tensor.name, dtype, tensor.shape,
                           [view = *view, dtype](const auto& sink) { return writeValues(view, dtype, sink); }});
    }
    /// A sentence about values that the type of their tensor does not hold; "" if there are none.
    std::string beyondText() const {
        const auto isBeyond = [](const Stored& from) { return from.beyond > 0; };
        const auto first = std::ranges::find_if(stored_, isBeyond);
        const auto stored = first == stored_.end() ? Result<StoredTensor>(tl::unexpected(Error())) : storedOf(*first);
        if (!stored) return {};
        const auto others = std::count_if(first + 1, stored_.end(), isBeyond);
        return fmt::format("{} decoded values of {} are beyond what {} holds, and became its largest{}.", first->beyond,
                           quotedName(stored->name), info(stored->dtype).id,
                           others > 0 ? fmt::format("; so did values of {} other tensors", others) : std::string());
    }
    static tl::unexpected<Error> inFile(const Stored& from, const Error& error) {
        return fail(fmt::format("{}: {}", escapeForPeople(from.file->path, 160), error.sentence()), from.file->path);
    }
    static Result<StoredTensor> storedOf(const Stored& from) {
        auto stored = parseStored(*from.key, *from.text);
        return stored ? std::move(stored) : inFile(from, stored.error());
    }
    Result<void> add(OutputShard& shard, std::uint32_t source) {
        const auto tensor = make(source, 0);
        if (!tensor) return tl::unexpected(tensor.error());
        shard.tensors.add(source, 0, tensor->name, {tensor->dtype, tensor->shape, tensor->packed});
        return {};
    }

    const Model& model_;
    std::optional<Decode> decode_;
    bool hasConv1d_;
    std::deque<Stored> stored_; ///< what is written knows their addresses
    std::set<std::string> fields_;
};

} // namespace

Result<WrittenFiles> dequantizeModel(const Model& model, std::optional<Decode> decode, const std::string& output,
                                     const Job& job, bool copyAll, bool allowMissing) {
    if (auto fine = namesSafetensors(output); !fine) return tl::unexpected(fine.error());
    if (auto whole = checkWhole(model, allowMissing); !whole) return tl::unexpected(whole.error());
    if (auto fine = checkTransforms(model); !fine) return tl::unexpected(fine.error());
    const auto readable = readableOf(model);
    return Decoding(readable ? *readable : model, decode).run(output, copyAll, job);
}

} // namespace qs
