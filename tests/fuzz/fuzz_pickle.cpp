// SPDX-License-Identifier: GPL-3.0-or-later
// Any input must give a pickle or an error. All values of a pickle must be accessible. Tensors that can be read must have
// a storage, and at most 64 axes.
#include "core/model/pytorch/pickle.h"
#include "core/model/pytorch/pytorch_state.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
    bool isCutOff = false;
    const auto pickle = qs::Pickle::read(bytes, {}, &isCutOff);
    if (!pickle) {
        if (pickle.error().message.empty()) std::abort();
        return 0;
    }
    using Kind = qs::Pickle::Kind;
    if (isCutOff || pickle->length() > size || pickle->root() >= pickle->values()) std::abort();
    for (qs::Pickle::Ref value = 0; value < pickle->values(); ++value) {
        const auto text = pickle->text(value);
        if (!text.empty() && (text.data() < reinterpret_cast<const char*>(data) || text.size() > size)) std::abort();
        for (const auto item : pickle->items(value))
            if (item >= pickle->values()) std::abort();
        const auto pairs = pickle->pairs(value);
        if (pairs.size() % 2 != 0) std::abort();
        for (const auto item : pairs)
            if (item >= pickle->values()) std::abort();
        if (pickle->kind(value) == Kind::Object && pickle->kind(pickle->object(value).args) != Kind::Tuple)
            std::abort();
        if (pickle->kind(value) == Kind::Class && pickle->className(value).empty()) std::abort();
    }
    const auto state = qs::readTorchState(*pickle, "fuzz");
    if (!state) {
        if (state.error().message.empty()) std::abort();
        return 0;
    }
    for (const auto& tensor : state->tensors)
        if (tensor.unread.empty() && (!state->storages.contains(tensor.storage) || tensor.shape.size() > 64))
            std::abort();
    return 0;
}
