// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// For backends that keep their variants in a constant table. A row has id, title, note and compute. `rows` are the rows
// that can do a problem.

#include "plugins/common/entry.h"

#include <vector>

namespace qs::plugin {

template<class Row> const Row& variantNamed(const std::vector<const Row*>& rows, const char* id) {
    for (const Row* row : rows)
        if (is(id, row->id)) return *row;
    throw Refusal(QS_INVALID_ARGUMENT, std::string("there is no variant ") + (id ? id : ""));
}

template<class Row> const Row& variantAt(const std::vector<const Row*>& rows, std::uint32_t index) {
    if (index >= rows.size()) throw Refusal(QS_INVALID_ARGUMENT, "there is no variant of that index");
    return *rows[index];
}

template<class Row> void giveVariant(qs_variant* out, const Row& row, std::uint32_t flags, double nmseLimit) {
    auto variant = given(out);
    variant.flags = flags, variant.nmse_limit = nmseLimit;
    put(variant.id, row.id), put(variant.title, row.title), put(variant.note, row.note);
    put(variant.compute, row.compute);
    give(out, variant);
}

/// Makes a kernel and fills in *info. make() returns a std::unique_ptr to a kernel that has a member `product`.
template<class Kernel, class Make> void giveKernel(Kernel** out, qs_kernel_info* info, const Make& make) {
    auto kernel = make();
    give(info, kernel->product.info());
    *out = kernel.release();
}

} // namespace qs::plugin
