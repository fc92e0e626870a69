// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a checkpoint says of itself in its name, its metadata and its settings, against what its files hold.

#include <string>
#include <vector>

namespace qs {

class Model;

/// A statement in the settings of a checkpoint, its name or its certificate, and what the files show.
struct Claim {
    std::string who;   ///< where the statement stands: "config.json: bits"
    std::string says;  ///< what it says: "4"
    std::string found; ///< what the files show: "8 in 210 layers"
    bool holds = true;
};

/// The claims of the settings beside the weights, of file names and of metadata. `ofLayers`: also what config_groups of
/// compressed-tensors say of single layers.
std::vector<Claim> claimsOfModel(const Model& model, bool ofLayers = true);

/// One sentence for each type that the file's name, its metadata or its config.json name and no weight has.
std::vector<std::string> wrongLabels(const Model& model);

} // namespace qs
