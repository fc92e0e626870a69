// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Writes tensors into a file one after another. It reports progress, stops when the job is cancelled, and checks that
// each tensor delivers as many bytes as its shape needs.

#include "core/model/output/atomic_file.h"
#include "core/model/safetensors/safetensors.h"

namespace qs {

/// Size of the tensor's data in bytes, from shape and dtype. Fails if the name or the shape cannot be written.
/// `path` is used only in the message.
Result<std::uint64_t> byteCount(const std::string& name, const TensorsToWrite::Kind& kind, const std::string& path);

class TensorStream {
public:
    /// `bytes` and `tensors` are totals over all tensors; progress is reported against them.
    TensorStream(AtomicFile& file, std::string path, std::uint64_t bytes, std::size_t tensors, const Job& job)
        : file_(file), path_(std::move(path)), total_(bytes), tensors_(tensors), job_(job) {}
    /// Writes all bytes that the tensor produces. Fails if their number is not `bytes` (see byteCount()).
    Result<void> add(const TensorToWrite& tensor, std::uint64_t bytes);
    /// The same. `seen` is called with each piece before it is written.
    Result<void> add(const TensorToWrite& tensor, std::uint64_t bytes,
                     const std::function<void(std::span<const std::byte>)>& seen);

    /// One tensor and its place in the file.
    struct Placed {
        std::string name;
        std::uint64_t offset, bytes; ///< of the data in the file; size of the data; both in bytes
    };
    /// Writes tensors that one call produces together. `placed` has them in the order in which they are produced.
    Result<void> add(const ProducedTogether& together, std::span<const Placed> placed);

private:
    void say(const std::string& name);
    tl::unexpected<Error> wrongSize(const std::string& name, std::uint64_t given, std::uint64_t bytes) const;
    AtomicFile& file_;
    std::string path_;
    std::uint64_t total_, done_ = 0, said_ = 0;
    std::size_t tensors_, index_ = 0;
    const Job& job_;
};

/// Gives the finished file its name. Before that, the source files must be unchanged, because a truncated source reads
/// as zeros, and `naming.check`, if set, must accept the file.
Result<void> checkAndCommit(AtomicFile& file, const Model* opened, const Job& job, const Naming& naming);

} // namespace qs
