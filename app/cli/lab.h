// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the lab commands share: one tensor of a checkpoint, inputs for it, and a report of one table.

#include "app/cli/output_files.h"
#include "core/base/machine_memory.h"
#include "core/quant/spec/spec.h"
#include "core/value/inputs.h"

#include <functional>

namespace qs::cli {

struct LabTensor {
    std::shared_ptr<const Model> opened; ///< what was named
    std::shared_ptr<const Model> model;  ///< where the tensor is: `opened`, or what it was decoded to
    const TensorInfo* info = nullptr;
    value::Tensor values; ///< f32
};
/// The one that `name` names, else the only one that it takes as an expression; more or none are an error. `flat`: as
/// rows of the last axis. Tensors that `quantize` stored are decoded under their own names.
/// `need`: what will be done with it takes so much memory, which is asked before the tensor is read.
Result<LabTensor> labTensor(const std::string& path, const std::string& name, bool flat,
                            const std::function<MemoryNeed(const TensorInfo&)>& need = {});
/// Refuses what does not fit, and says what takes more than a GiB.
Result<void> sayNeed(const MemoryNeed& need);
void addLabTensor(CLI::App& app, std::string& name);
/// Null for "": synthetic.
Result<std::shared_ptr<const value::InputFile>> labInputs(const std::string& path);

struct LabReport {
    std::string title, subtitle, text, note;
    std::string specs, seeds, commandLine;
    std::vector<Plot> plots;
    std::vector<std::pair<std::string, Table>> more; ///< further arrays of the JSON
    std::vector<std::string> paths = {};             ///< as typed, beside the model's
};
/// Prints the table and what stands below it, or writes the files that were asked for.
Result<void> putLab(const OutputFiles& outputs, const Model* model, const Table& table,
                    const std::vector<std::string_view>& shown, LabReport report, const std::string& below);

} // namespace qs::cli
