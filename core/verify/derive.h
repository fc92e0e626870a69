// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Whether a tensor of an export is what a spec makes of the original.

#include "core/analysis/diff/diff.h"
#include "core/export/compare_tensor.h"

#include <map>

namespace qs {

/// What was found of one tensor.
struct Derivation {
    std::string spec; ///< that it derives from, or comes nearest to; "": none was tried
    Differences differences;
    bool isExact() const { return !spec.empty() && differences.differing == 0; }
    std::string reason; ///< why no spec was tried; that it was not the original's own values that were quantized
};

/// Finds derivations of one export. It remembers what fitted before: most tensors of a model are made alike.
class Deriving {
public:
    Deriving(const Model& original, const Model& exported, const Certificate* certificate, const Job& job)
        : original_(original), exported_(exported), certificate_(certificate), job_(job) {}
    /// `row`: a pair of the two models, the tensor of A whole and in the order of rows that its placement says.
    Result<Derivation> of(const DiffRow& row);

private:
    /// Values of a spec as one reader computes them: level x scale (null), or as a layout's own reader does.
    struct Attempt {
        QuantSpec spec;
        const Layout* layout = nullptr;
        bool isRounded = false;      ///< the original rounded to the type of the export first
        std::uint64_t differing = 0; ///< in the sample
    };
    Result<std::optional<Differences>> tried(const Attempt& attempt, const TensorView& source, const Reading& there,
                                             std::uint64_t mostUnits);
    std::vector<Attempt> attempts(const std::vector<QuantSpec>& specs, const TensorInfo& tensor, bool roundedToo) const;

    const Model& original_;
    const Model& exported_;
    const Certificate* certificate_;
    const Job& job_;
    /// By type of storage: what fitted the last tensor that is stored so.
    std::map<std::string, Attempt> last_;
};

} // namespace qs
