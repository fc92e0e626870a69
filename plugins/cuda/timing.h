// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Samples by events of the device, and what the device can do at most.

#include "plugins/cuda/product.h"

#include <atomic>
#include <functional>

namespace qs::cuda {

/// run(turn) queues one run. Every sample ends when its last run has ended on the device.
void timeOnDevice(cudaStream_t stream, const qs_host* host, const std::atomic<bool>& cancelled, const qs_run_opts& opts,
                  qs_run_result& result, const std::function<void(std::uint32_t turn)>& run);

/// "read_bw", "copy_bw": bytes of the memory; "cache_bw": of the cache that all multiprocessors share, which is where a
/// warm weight is, as a launch begins with empty caches of their own; "f32" "bf16" "i8": operations of a large product by cuBLAS. Returns the work of one run.
double measureRoof(Device& device, const std::string& kind, const qs_host* host, const std::atomic<bool>& cancelled,
                   const qs_run_opts& opts, qs_run_result& result);

} // namespace qs::cuda
