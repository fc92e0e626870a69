// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a PyTorch checkpoint holds besides tensors that are shown, counted while it is walked, and in words.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace qs {

struct TorchNotes {
    struct Count {
        std::size_t n = 0;
        std::string first; ///< the name of the first
    };
    std::map<std::string, Count> classes; ///< of objects that are not loaded
    std::size_t otherClasses = 0;         ///< objects of further ones
    std::size_t keys = 0;                 ///< values whose keys are no names
    std::string firstKeys;
    Count unread, quantized, bare, plain, again;

    std::vector<std::string> sentences() const; ///< their ends
};

} // namespace qs
