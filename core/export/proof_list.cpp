// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/proof_list.h"

#include "core/records/archive.h"

#include <unistd.h>
#include <utility>

namespace qs {

constexpr Comparison lastOf(Comparison) { return Comparison::NotCompared; }
template<class Archive, archive::Of<TensorProof> T> void fieldsOf(Archive& archive, T& row) {
    std::string spec = row.spec, specFull = row.specFull, dtype = row.dtype, readAs = row.readAs;
    TensorShape::Sizes shape = row.shape.sizes();
    archive(row.name, spec, specFull, dtype, readAs, shape, row.elements, row.bytesPredicted, row.bytesWritten,
            row.result, row.reason);
    if constexpr (Archive::isReader)
        row.spec = spec, row.specFull = specFull, row.dtype = dtype, row.readAs = readAs, row.shape = shape;
}

const char* idOf(Comparison result) {
    switch (result) {
    case Comparison::Equal: return "equal";
    case Comparison::Copied: return "copied";
    case Comparison::NotCompared: break;
    }
    return "not compared";
}

void ProofList::add(TensorProof row) {
    inMemory_.push_back(std::move(row));
    if (inMemory_.size() % kMostInMemory == 0) moveToFile();
}

/// If the folder for temporary files is full, or there is none, the rows stay in memory.
void ProofList::moveToFile() {
    if (!file_)
        file_ = std::shared_ptr<std::FILE>(std::tmpfile(), [](std::FILE* file) {
            if (file) std::fclose(file);
        });
    if (!file_ || std::fseek(file_.get(), 0, SEEK_END) != 0) return;
    const auto at = ::ftello(file_.get());
    const std::string bytes = archive::bytesOf(inMemory_);
    if (at < 0 || std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size() ||
        std::fflush(file_.get()) != 0)
        return;
    pieces_.push_back({std::uint64_t(at), bytes.size()});
    inFile_ += inMemory_.size();
    inMemory_.clear();
}

Result<void> ProofList::each(const std::function<Result<void>(const TensorProof&)>& take) const {
    std::string bytes;
    for (const Piece& piece : pieces_) {
        bytes.resize(piece.bytes);
        const bool isRead =
            ::pread(::fileno(file_.get()), bytes.data(), bytes.size(), off_t(piece.offset)) == ssize_t(bytes.size());
        const auto rows = isRead ? archive::valueOf<std::vector<TensorProof>>(bytes) : std::nullopt;
        if (!rows) return fail("the rows of the proof cannot be read back from the folder for temporary files");
        for (const TensorProof& row : *rows)
            if (auto done = take(row); !done) return done;
    }
    for (const TensorProof& row : inMemory_)
        if (auto done = take(row); !done) return done;
    return {};
}

Result<std::vector<TensorProof>> ProofList::all() const {
    std::vector<TensorProof> rows;
    rows.reserve(size());
    const auto done = each([&](const TensorProof& row) {
        rows.push_back(row);
        return Result<void>();
    });
    if (!done) return tl::unexpected(done.error());
    return rows;
}

} // namespace qs
