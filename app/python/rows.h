// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a command returns: a table with the columns of core, a sentence, more tables, and the report that the command line
// would write.

#include "app/python/task.h"
#include "core/report/report.h"

#include <memory>
#include <string>
#include <vector>

namespace qs::python {

struct Rows {
    Table table;
    std::string summary; ///< sentences for people
    std::vector<std::pair<std::string, Table>> more;
    /// Made when plots or a file are asked for, because it hashes the input files. Null: there is none.
    std::function<Result<Report>(const Job&)> report;
    std::vector<std::string> inputs; ///< files that were read: no output may be one of them

    static Rows of(Table table) { return {std::move(table), {}, {}, {}, {}}; }
    template<class Row> static Rows of(const Columns<Row>& columns, const std::vector<Row>& rows) {
        return of(makeTable({}, columns, rows));
    }
    template<class Row> void add(std::string id, const Columns<Row>& columns, const std::vector<Row>& rows) {
        more.emplace_back(std::move(id), makeTable({}, columns, rows));
    }
};

void bindRows(py::module_& module);

} // namespace qs::python
