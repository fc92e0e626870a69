// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Shared by the lab commands: one tensor of a checkpoint, its inputs, and a report with one table.

#include "app/cli/output_files.h"
#include "core/base/machine_memory.h"
#include "core/quant/spec/spec.h"
#include "core/value/inputs.h"

#include <functional>

namespace qs::cli {

struct LabTensor {
    std::shared_ptr<const Model> opened; ///< the model the user named
    std::shared_ptr<const Model> model;  ///< the model that holds the tensor: `opened`, or its dequantized copy
    const TensorInfo* info = nullptr;
    value::Tensor values; ///< dtype F32
};
/// Loads one tensor. `name` is an exact name or a regular expression that matches exactly one tensor; anything else is
/// an error. `flat`: reshape to [elements / last, last], where last is the last axis. Tensors stored by `quantize` are
/// dequantized under their own names. `need` returns the memory the lab will use; it is checked before the tensor is
/// read.
Result<LabTensor> labTensor(const std::string& path, const std::string& name, bool flat,
                            const std::function<MemoryNeed(const TensorInfo&)>& need = {});
/// Fails if the memory is not there; warns above 1 GiB.
Result<void> sayNeed(const MemoryNeed& need);
void addLabTensor(CLI::App& app, std::string& name);
/// Opens a file of inputs; null for an empty path, which means synthetic inputs.
Result<std::shared_ptr<const value::InputFile>> labInputs(const std::string& path);

struct LabReport {
    std::string title, subtitle, text, note;
    std::string specs, seeds, commandLine;
    std::vector<Plot> plots;
    std::vector<std::pair<std::string, Table>> more; ///< further arrays in the JSON file
    std::vector<std::string> paths = {};             ///< paths as typed, in addition to the model's
};
/// Prints the table and the text `below`, or writes the requested files.
Result<void> putLab(const OutputFiles& outputs, const Model* model, const Table& table,
                    const std::vector<std::string_view>& shown, LabReport report, const std::string& below);

} // namespace qs::cli
