// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The tensors of a file that are listed although their values cannot be read: one bad entry does not close a file.

#include "core/base/tensor_name.h"

#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

class UnreadTensors {
public:
    /// `why`: the end of a sentence.
    void add(std::string_view name, std::string why) {
        if (count_++ == 0) first_ = quotedName(name), why_ = std::move(why);
    }
    /// Adds one sentence, without the file's name and without a full stop, if there are any.
    void say(std::vector<std::string>& sentences) const {
        if (count_ == 0) return;
        sentences.push_back(fmt::format("tensor {} is listed but cannot be read: {}{}", first_, why_,
                                        count_ > 1 ? fmt::format(" (nor can {} others)", count_ - 1) : ""));
    }

private:
    std::size_t count_ = 0;
    std::string first_, why_;
};

} // namespace qs
