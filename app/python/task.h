// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Work of core for a call from Python. It runs on a thread of its own, without the GIL, while the calling thread hands
// progress to the callback and looks for signals: Ctrl-C cancels the job.

#include "core/base/job.h"

#include <functional>
#include <optional>
#include <pybind11/pybind11.h>

namespace qs::python {

namespace py = pybind11;

/// Runs `work` to its end and throws what it threw. `progress` is None or a function of (done, total, what); what it raises
/// cancels the job and is raised again here.
void runTask(const py::object& progress, const std::function<void(const Job&)>& work);

/// The same for work with a value. `work` may not touch Python objects.
template<class Work> auto run(const py::object& progress, Work&& work) {
    std::optional<decltype(work(std::declval<const Job&>()))> value;
    runTask(progress, [&](const Job& job) { value.emplace(work(job)); });
    return std::move(*value);
}

} // namespace qs::python
