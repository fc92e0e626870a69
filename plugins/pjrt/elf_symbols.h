// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a shared library exports and needs, read from its file: nothing of it is loaded or run.

#include <string>
#include <vector>

namespace qs::pjrt {

struct ElfSymbols {
    std::string problem; ///< empty, or one sentence about why the file is no shared library for this machine
    bool readable = true; ///< false: the file cannot be read, which is the problem
    std::vector<std::string> needed;
    bool exportsPjrt = false;   ///< defines GetPjrtApi
    bool exportsLibtpu = false; ///< defines GetLibtpuSdkApi or a TpuDriver function: the TPU runtime
};
/// Reads dynamic symbols only; every offset is checked against the file's size.
ElfSymbols readElfSymbols(const std::string& path);

} // namespace qs::pjrt
