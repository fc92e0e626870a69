// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How transformers names the linear layers of a checkpoint: it compares settings of quantized layers with the names of
// its network.

#include "core/base/result.h"
#include "core/model/model.h"

#include <QRegularExpression>
#include <string>
#include <vector>

namespace qs {

class NetworkNames {
public:
    explicit NetworkNames(const Model& model);
    /// The name of the module in the network: its own, where no rule for the model type changes it. Several where the
    /// network splits its matrix. Fails if the names of the network are not known.
    Result<std::vector<std::string>> inNetwork(const std::string& module) const;
    /// That of the checkpoint, those of the network, and each without the prefix of the network's base, which a network
    /// without a head drops; or with it, if the checkpoint has none.
    Result<std::vector<std::string>> all(const std::string& module) const;
    /// Output heads that may be tied to an embedding: linear layers without a matrix in the checkpoint.
    const std::vector<std::string>& tiedHeads() const { return tiedHeads_; }

private:
    struct Rule {
        QRegularExpression from;
        const char* to; ///< null: the names are not known
    };
    std::string network_; ///< model_type
    std::vector<Rule> rules_;
    std::vector<std::string> tiedHeads_, bases_; ///< bases: "model."
    bool hasBase_ = false;                       ///< a tensor of the checkpoint has one of these prefixes
};

} // namespace qs
