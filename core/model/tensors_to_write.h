// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The tensors of a file to write. A model may have a million of them, so the list has a small row for each; the rest is
// made again when a tensor is written.

#include "core/base/result.h"
#include "core/model/dtype.h"
#include "core/model/tensor_shape.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

struct PackedType;

/// Several tensors of one file that are produced together. Each Place writes bytes of one tensor at an offset in its
/// data.
struct ProducedTogether {
    using Place = std::function<Result<void>(std::uint64_t offset, std::span<const std::byte>)>;
    std::function<Result<void>(std::span<const Place>)> produce; ///< called once, with one Place per tensor, in order
};

/// A tensor to write. `produce` is called once per tensor, in the order of the file. It passes the tensor's bytes to
/// the sink in pieces, in order.
struct TensorToWrite {
    std::string name;
    DType dtype = DType::F32;
    TensorShape shape;
    using Sink = std::function<Result<void>(std::span<const std::byte>)>;
    std::function<Result<void>(const Sink&)> produce;
    /// For GGUF files: block type of the elements; null if they are stored as `dtype`.
    const PackedType* packed = nullptr;
    /// Set if one pass over the source produces several tensors, which follow each other in a list. A writer with random
    /// access calls this instead of `produce`.
    std::shared_ptr<const ProducedTogether> together = nullptr;
};
/// Size of the tensor's data in bytes, from shape and type, which were checked before.
std::uint64_t bytesOf(const TensorToWrite& tensor);

/// Makes the tensors of a list. Its sources are what they are made of: the tensors of a model, say. Of one source come
/// one or more fields, and each of these is a tensor to write.
class TensorMaker {
public:
    virtual ~TensorMaker() = default;
    /// The names of fields should begin like this name: then a row is small.
    virtual std::string_view nameOf(std::uint32_t source) const = 0;
    /// The same tensor whenever it is asked for; valid until another one is asked for.
    virtual Result<TensorToWrite> make(std::uint32_t source, std::uint32_t field) = 0;
    /// Tensors with Kind::isTogether are produced together with the others of their group.
    virtual std::uint32_t groupOf(std::uint32_t source) const { return source; }
    /// An entry of the file's metadata about a source that TensorsToWrite::describe() was called for. Its key ends with
    /// nameOf(source), and what comes before is the same for all sources.
    virtual std::pair<std::string, std::string> metadataOf(std::uint32_t source) const;
};

class TensorsToWrite {
public:
    /// What many tensors have in common.
    struct Kind {
        DType dtype = DType::F32;
        TensorShape shape;
        const PackedType* packed = nullptr;
        bool isTogether = false; ///< TensorToWrite::together is set
        bool operator==(const Kind&) const = default;
    };

    TensorsToWrite() = default;
    /// `maker`: not owned, must stay valid.
    explicit TensorsToWrite(TensorMaker& maker);
    TensorsToWrite(std::vector<TensorToWrite> tensors); // NOLINT(google-explicit-constructor): a list of few
    TensorsToWrite(std::initializer_list<TensorToWrite> tensors)
        : TensorsToWrite(std::vector<TensorToWrite>(tensors)) {}

    void add(std::uint32_t source, std::uint32_t field, std::string_view name, const Kind& kind);
    /// The file's metadata gets the entry that the maker has about the source.
    void describe(std::uint32_t source) { described_.push_back(source); }
    /// Room for so many tensors, of which so many are described.
    void reserve(std::size_t tensors, std::size_t described);
    /// Adds the rows of another list of the same maker, which is empty afterwards.
    void append(TensorsToWrite& other);

    std::size_t size() const { return rows_.size(); }
    bool empty() const { return rows_.empty(); }
    std::string nameOf(std::size_t i) const;
    const Kind& kindOf(std::size_t i) const { return kinds_[rows_[i].kind]; }
    std::uint64_t bytesOf(std::size_t i) const;
    std::uint64_t bytes() const; ///< of all tensors
    /// Of what is produced together: the group, and the place among the tensors of the group.
    std::uint32_t groupOf(std::size_t i) const { return maker_->groupOf(rows_[i].source); }
    std::pair<std::uint32_t, std::uint32_t> placeInGroup(std::size_t i) const {
        return {rows_[i].source, rows_[i].field};
    }
    Result<TensorToWrite> make(std::size_t i) const { return maker_->make(rows_[i].source, rows_[i].field); }
    /// Negative if the name of a tensor is before that of another one, byte by byte; 0 if they are equal.
    int compareNames(std::size_t i, std::size_t k) const { return compareNames(rows_[i], *this, rows_[k]); }
    int compareNames(std::size_t i, const TensorsToWrite& other, std::size_t k) const {
        return compareNames(rows_[i], other, other.rows_[k]);
    }
    /// Passes the metadata about described sources, sorted by key.
    Result<void>
    eachDescription(const std::function<Result<void>(const std::string& key, const std::string& value)>& take) const;

    void sortByName();
    void sortByTypeAndName();                        ///< types descending, as in files of safetensors
    void permute(std::vector<std::uint32_t>& order); ///< afterwards tensor i is the old order[i]; overwrites `order`

private:
    struct Row {
        std::uint32_t source, kind, ending;
        std::uint16_t kept; ///< bytes of the source's name that come before the ending
        std::uint16_t field;
    };
    static_assert(sizeof(Row) == 16);
    std::uint32_t kind(const Kind& kind);
    std::uint32_t ending(std::string_view text);
    int compareNames(const Row& a, const TensorsToWrite& other, const Row& b) const;

    std::shared_ptr<TensorMaker> maker_;
    std::vector<Row> rows_;
    std::vector<std::uint32_t> described_; ///< sources
    std::vector<Kind> kinds_;
    std::vector<std::string> endings_;
};

} // namespace qs
