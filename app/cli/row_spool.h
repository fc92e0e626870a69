// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Rows of a long table in a file without a name: a million of them take no memory.

#include "core/base/column.h"
#include "core/base/result.h"

#include <cstdio>
#include <memory>

namespace qs::cli {

class RowSpool {
public:
    RowSpool();
    Result<void> add(const std::vector<Value>& cells);
    std::size_t size() const { return rows_; }
    /// Asked for from the first to the last, any number of times.
    std::vector<Value> row(std::size_t i);
    /// The next `most` rows from `first` on, or fewer at the end.
    std::vector<std::vector<Value>> rows(std::size_t first, std::size_t most);

private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Close> file_; ///< null: there is no room for it
    std::size_t rows_ = 0, next_ = 0;
};

} // namespace qs::cli
