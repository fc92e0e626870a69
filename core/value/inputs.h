// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Inputs of the labs (activations, gradients, K and V blocks) from a checkpoint or an array of NumPy.

#include "core/model/model.h"
#include "core/value/kv_cache.h"
#include "core/value/tensor.h"

#include <memory>

namespace qs::value {

class InputFile {
public:
    /// Opens *.npy (version 1 to 3, little-endian f16, f32, f64, C order, at most 2^30 elements), or any file that
    /// openModel() reads. Tensors stored by `quantize` are decoded.
    static Result<std::shared_ptr<const InputFile>> open(const std::string& path);
    const std::string& title() const { return title_; }
    /// the opened model; null: the file is *.npy
    const std::shared_ptr<const Model>& source() const { return source_; }

    /// At most `rows` rows as f32 [rows, columns]: of the tensor with this name if its last axis fits, otherwise of the
    /// first tensor whose last axis fits.
    Result<Tensor> take(const std::string& name, std::int64_t rows, std::int64_t columns) const;
    /// Tensors named q, k and v (or ending in .q, .k, .v), each [heads, tokens, dim]; a leading axis of size 1 is
    /// dropped. Without q, the queries are the last 64 keys minus the mean of all keys.
    Result<KvPlan> keysAndValues() const;

private:
    std::string title_;
    std::shared_ptr<const Model> source_, model_; ///< null: the input is `array_`
    std::string name_;
    Tensor array_;
};

/// Inputs from a file, or synthetic ones if `file` is null.
Result<Tensor> inputsFor(const InputFile* file, const std::string& name, std::int64_t rows, std::int64_t columns);
/// Cuts both to the number of rows that both have.
void sameRows(Tensor& x, Tensor& g);
Result<Tensor> gradientsFor(const InputFile* file, const std::string& name, std::int64_t rows, std::int64_t columns);

} // namespace qs::value
