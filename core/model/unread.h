// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The tensors of a file that are listed although their values cannot be read: one bad entry does not close a file.

#include "core/base/tensor_name.h"
#include "core/model/gguf/unknown_type.h"
#include "core/model/model.h"

#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

/// Makes a row one of a tensor that cannot be read: it keeps its name and shape, and has no bytes. `type`: what is shown
/// as its type.
inline void markUnread(TensorInfo& tensor, std::string_view type = "unreadable") {
    tensor.dtype = DType::U8, tensor.packed = unknownType(type);
    tensor.bytes = tensor.offset = 0;
    tensor.derived = nullptr;
}

class UnreadTensors {
public:
    /// `why`: the end of a sentence.
    void add(std::string_view name, std::string why) {
        ++count_;
        for (Reason& one : reasons_)
            if (one.why == why || &one - reasons_.data() + 1 == std::ptrdiff_t(kMostReasons)) {
                ++one.count;
                return;
            }
        reasons_.push_back({quotedName(name), std::move(why), 1});
    }
    std::size_t count() const { return count_; }
    /// Adds a sentence for each reason, without the file's name and without a full stop.
    void say(std::vector<std::string>& sentences) const {
        for (const Reason& one : reasons_)
            sentences.push_back(fmt::format("tensor {} is listed but cannot be read: {}{}", one.first, one.why,
                                            one.count > 1 ? fmt::format(" (nor can {} others)", one.count - 1) : ""));
    }

private:
    static constexpr std::size_t kMostReasons = 5; ///< the last one counts all others too
    struct Reason {
        std::string first, why;
        std::size_t count;
    };
    std::vector<Reason> reasons_;
    std::size_t count_ = 0;
};

} // namespace qs
