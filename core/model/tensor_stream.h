// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Tensors written one after another into a file: how far it is, when it is cancelled, and that each hands over the
// bytes that its shape takes.

#include "core/model/output/atomic_file.h"
#include "core/model/safetensors/safetensors.h"

namespace qs {

/// Bytes of a tensor's data, or what is wrong with it; `path` only names the place.
Result<std::uint64_t> byteCount(const TensorToWrite& tensor, const std::string& path);

class TensorStream {
public:
    /// `tensors`, of `bytes` together, are told as the whole.
    TensorStream(AtomicFile& file, std::string path, std::uint64_t bytes, std::size_t tensors, const Job& job)
        : file_(file), path_(std::move(path)), total_(bytes), tensors_(tensors), job_(job) {}
    /// Everything that the tensor produces; `bytes` as byteCount() says.
    Result<void> add(const TensorToWrite& tensor, std::uint64_t bytes);
    /// The same; `seen` gets each piece too.
    Result<void> add(const TensorToWrite& tensor, std::uint64_t bytes,
                     const std::function<void(std::span<const std::byte>)>& seen);

    /// A tensor that is written at `offset`, of which `bytes` are to come.
    struct Placed {
        const TensorToWrite* tensor;
        std::uint64_t offset, bytes;
    };
    /// All of those that are produced together, in the order of their names.
    Result<void> add(const ProducedTogether& together, std::span<const Placed> placed);

private:
    void say(const TensorToWrite& tensor);
    tl::unexpected<Error> wrongSize(const TensorToWrite& tensor, std::uint64_t given, std::uint64_t bytes) const;
    AtomicFile& file_;
    std::string path_;
    std::uint64_t total_, done_ = 0, said_ = 0;
    std::size_t tensors_, index_ = 0;
    const Job& job_;
};

/// Names the file when the sources are as they were (what a truncated one no longer has reads as zeros) and the check,
/// where there is one, has opened the file and found it good.
Result<void> checkAndCommit(AtomicFile& file, const Model* opened, const Job& job, const Naming& naming);

} // namespace qs
