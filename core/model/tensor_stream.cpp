// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/tensor_stream.h"

#include "core/base/strict_json.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/gguf/packed_type.h"
#include "core/model/mapped_file.h"

#include <fmt/format.h>

namespace qs {
namespace {

// Bytes between two reports of progress.
constexpr std::uint64_t kSayEvery = std::uint64_t(4) << 20;

} // namespace

Result<std::uint64_t> byteCount(const std::string& name, const TensorsToWrite::Kind& kind, const std::string& path) {
    const auto wrong = [&](const std::string& why) {
        return fail(fmt::format("{}: tensor {} cannot be written: {}.", shownPath(path), quotedName(name), why), path);
    };
    if (name == "__metadata__") return wrong("the name is taken by the format");
    if (invalidUtf8(name) != std::string_view::npos || name.find('\0') != std::string::npos)
        return wrong("its name is not valid UTF-8");
    std::uint64_t bits = std::uint64_t(info(kind.dtype).bits);
    for (const auto dim : kind.shape)
        if (dim < 0 || __builtin_mul_overflow(bits, std::uint64_t(dim), &bits))
            return wrong(fmt::format("the shape {} is impossible", shapeText(kind.shape)));
    if (bits % 8 != 0)
        return wrong(fmt::format("{} of {} end inside a byte", shapeText(kind.shape), info(kind.dtype).id));
    return bits / 8;
}

Result<void> TensorStream::add(const TensorToWrite& tensor, std::uint64_t bytes) { return add(tensor, bytes, {}); }

void TensorStream::say(const std::string& name) {
    said_ = done_;
    job_.progress({double(done_), double(total_), "Writing " + escapeForPeople(name, 60), index_, tensors_});
}

tl::unexpected<Error> TensorStream::wrongSize(const std::string& name, std::uint64_t given, std::uint64_t bytes) const {
    return fail(fmt::format("{}: tensor {} came with {} bytes, but its shape takes {}; nothing was written.",
                            shownPath(path_), quotedName(name), given, bytes),
                path_);
}

Result<void> TensorStream::add(const TensorToWrite& tensor, std::uint64_t bytes,
                               const std::function<void(std::span<const std::byte>)>& seen) {
    std::uint64_t given = 0;
    if (job_.cancelled()) return cancelledError();
    say(tensor.name);
    const auto produced = tensor.produce([&](std::span<const std::byte> piece) -> Result<void> {
        if (job_.cancelled()) return cancelledError();
        given += piece.size();
        if (given > bytes) return wrongSize(tensor.name, given, bytes);
        if (seen) seen(piece);
        if (auto written = file_.write(piece); !written) return written;
        done_ += piece.size();
        if (done_ - said_ >= kSayEvery) say(tensor.name);
        return {};
    });
    if (!produced) return produced;
    ++index_;
    return given == bytes ? Result<void>{} : wrongSize(tensor.name, given, bytes);
}

Result<void> TensorStream::add(const ProducedTogether& together, std::span<const Placed> placed) {
    if (job_.cancelled()) return cancelledError();
    say(placed.front().name);
    std::vector<std::uint64_t> given(placed.size());
    std::vector<ProducedTogether::Place> places;
    for (std::size_t i = 0; i < placed.size(); ++i)
        places.push_back([&, i](std::uint64_t offset, std::span<const std::byte> piece) -> Result<void> {
            if (job_.cancelled()) return cancelledError();
            const auto& [name, begin, bytes] = placed[i];
            given[i] += piece.size();
            if (offset > bytes || piece.size() > bytes - offset || given[i] > bytes)
                return wrongSize(name, given[i], bytes);
            if (auto written = file_.writeAt(begin + offset, piece); !written) return written;
            done_ += piece.size();
            if (done_ - said_ >= kSayEvery) say(name);
            return {};
        });
    if (auto produced = together.produce(places); !produced) return produced;
    index_ += placed.size();
    for (std::size_t i = 0; i < placed.size(); ++i)
        if (given[i] != placed[i].bytes) return wrongSize(placed[i].name, given[i], placed[i].bytes);
    return {};
}

Result<void> checkAndCommit(AtomicFile& file, const Model* opened, const Job& job, const Naming& naming) {
    if (opened)
        for (const auto& source : opened->files)
            if (source.mapping)
                if (auto same = source.mapping->unchanged(); !same) return same;
    if (naming.check) {
        const auto there = file.finish();
        if (!there) return tl::unexpected(there.error());
        if (auto good = naming.check(*there); !good) return good;
    }
    return file.commit(job, naming);
}

} // namespace qs
