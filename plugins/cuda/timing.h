// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Times runs with events of the device, and measures the roofs of the device.

#include "plugins/cuda/product.h"

#include <atomic>
#include <functional>

namespace qs::cuda {

/// run(turn) adds one run to the stream. A sample is the time of the device alone: all its runs wait in the queue when it begins, and it
/// ends when the last of them has ended.
void timeOnDevice(cudaStream_t stream, const qs_host* host, const std::atomic<bool>& cancelled, const qs_run_opts& opts,
                  qs_run_result& result, const std::function<void(std::uint32_t turn)>& run);

/// Measures a roof and returns the work of one run, in bytes or operations. "read_bw" and "copy_bw" measure the memory.
/// "cache_bw" measures the cache that all multiprocessors share: it holds a warm weight, because the cache of each
/// multiprocessor is empty when a launch begins. "f32", "bf16", "i8" and "fp8_e4m3" time a large product of cuBLAS.
double measureRoof(Device& device, const std::string& kind, const qs_host* host, const std::atomic<bool>& cancelled,
                   const qs_run_opts& opts, qs_run_result& result);

} // namespace qs::cuda
