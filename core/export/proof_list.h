// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The rows of a proof. There may be a million: the last ones are in memory, those before them in a file without a name.

#include "core/base/result.h"
#include "core/base/shared_text.h"
#include "core/model/tensor_shape.h"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace qs {

enum class Comparison {
    Equal,      ///< every value is what was analysed
    Copied,     ///< byte for byte what the source holds
    NotCompared ///< no reader of this program decodes it, so it is not proved
};

const char* idOf(Comparison result); ///< text in certificates: "equal", "copied", "not compared"

struct TensorProof {
    std::string name;
    SharedText spec, specFull; ///< "" if the tensor was copied
    SharedText dtype;          ///< dtype in the source
    SharedText readAs;         ///< the reader's name for its type: "bnb-nf4"
    TensorShape shape;
    std::uint64_t elements = 0;
    std::uint64_t bytesPredicted = 0, bytesWritten = 0;
    Comparison result = Comparison::NotCompared;
    std::string reason; ///< why it was not compared
    double bitsPerWeight() const { return elements ? 8.0 * double(bytesWritten) / double(elements) : 0; }
};

/// Rows in the order in which they were added. Copies share the file.
class ProofList {
public:
    void add(TensorProof row);
    std::size_t size() const { return inFile_ + inMemory_.size(); }
    bool empty() const { return size() == 0; }
    /// Passes each row to `take`, in order. Errors: those of `take`, and a file that cannot be read.
    Result<void> each(const std::function<Result<void>(const TensorProof&)>& take) const;
    /// All rows in memory, for those who show them.
    Result<std::vector<TensorProof>> all() const;

private:
    static constexpr std::size_t kMostInMemory = 1024;
    struct Piece {
        std::uint64_t offset, bytes; ///< in the file
    };
    void moveToFile();

    std::shared_ptr<std::FILE> file_; ///< null until it is needed, or if there can be none
    std::vector<Piece> pieces_;       ///< of kMostInMemory rows each
    std::size_t inFile_ = 0;
    std::vector<TensorProof> inMemory_;
};

} // namespace qs
