// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Evaluates a network as a backend would serve it: the products of its layers run on the backend, with the codes and scales
// that the backend takes, and with its activations (f32, bf16, or rows quantized to int8 or fp8 in the run).

#include "core/bench/run/bench_plan.h"
#include "core/eval/network/weight_change.h"

namespace qs::serve {

struct ServingChoice {
    BackendSource source;
    std::string variant; ///< its id; empty: the first that computes the format's own values
    std::string act; ///< a row of benchActs(); empty: f32, or with a variant the first under which the backend has it
    unsigned threads = 0; ///< of the backend; 0: all cores
    OpenBackend open;     ///< empty: openBackend() in its own worker
};

/// Opens the backend. Errors: one sentence with the backend's reason, cancelled.
Result<std::shared_ptr<eval::LinearServer>> openServer(const ServingChoice& choice, const Job& job);

/// `exact` with its products on a server of openServer(). `exact` is quantizedAs() or quantizedBy(); matrices that it keeps
/// are multiplied in f32 here. Several changes may share one server.
eval::WeightChange servedBy(const std::shared_ptr<eval::LinearServer>& server, eval::WeightChange exact);

} // namespace qs::serve
