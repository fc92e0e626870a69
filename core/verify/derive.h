// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds out whether a tensor of an export derives from the original: whether it is what a spec makes of the original.

#include "core/analysis/diff/diff.h"
#include "core/export/certificate.h"
#include "core/export/compare_tensor.h"

#include <map>

namespace qs {

/// The result for one tensor.
struct Derivation {
    std::string spec; ///< the spec that the tensor derives from, or comes nearest to; "" if none was tried
    Differences differences;
    bool isExact() const { return !spec.empty() && differences.differing == 0; }
    std::string reason; ///< why no spec was tried, or that other values than the original's were quantized
};

/// Finds the derivations of one export. It first tries the spec that fitted the last similar tensor, because most
/// tensors of a model are made in the same way.
class Deriving {
public:
    /// `specs`: what the certificate says of tensors, by name.
    Deriving(const Model& original, const Model& exported, std::map<std::string, SharedText> specs, const Job& job)
        : original_(original), exported_(exported), specs_(std::move(specs)), job_(job) {}
    /// Finds the derivation of a pair of tensors. The tensor of A must be whole, with its rows in the order of the
    /// placement.
    Result<Derivation> of(const DiffRow& row);

private:
    /// A spec and the way in which its values are computed: level x scale if `layout` is null, else as the layout's
    /// reader does it.
    struct Attempt {
        QuantSpec spec;
        const Layout* layout = nullptr;
        bool isRounded = false;      ///< true: the original is first rounded to the type of the export
        std::uint64_t differing = 0; ///< number of values in the sample that differ
    };
    Result<std::optional<Differences>> tried(const Attempt& attempt, const TensorView& source, const Reading& there,
                                             std::uint64_t mostUnits);
    std::vector<Attempt> attempts(const std::vector<QuantSpec>& specs, const TensorInfo& tensor, bool roundedToo) const;

    const Model& original_;
    const Model& exported_;
    std::map<std::string, SharedText> specs_;
    const Job& job_;
    /// For each type of storage, the attempt that fitted the last tensor stored in this way.
    std::map<std::string, Attempt> last_;
};

} // namespace qs
