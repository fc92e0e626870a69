// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Inputs of the labs (activations, gradients, K and V blocks), out of a checkpoint or an array of NumPy.

#include "core/model/model.h"
#include "core/value/kv_cache.h"
#include "core/value/tensor.h"

#include <memory>

namespace qs::value {

class InputFile {
public:
    /// *.npy (version 1 to 3, little-endian f16, f32, f64, C order, at most 2^30 elements), else openModel();
    /// tensors that `quantize` stored are decoded.
    static Result<std::shared_ptr<const InputFile>> open(const std::string& path);
    const std::string& title() const { return title_; }
    const std::shared_ptr<const Model>& source() const { return source_; } ///< as it was opened; null: *.npy

    /// [rows, columns] as f32, at most `rows` of them: the tensor of this name if it fits, else the first one whose
    /// last axis does.
    Result<Tensor> take(const std::string& name, std::int64_t rows, std::int64_t columns) const;
    /// Tensors named q, k and v (or ending in .q, .k, .v), each [heads, tokens, dim], a leading 1 is dropped. Without q
    /// the queries are the last 64 keys with the mean of all of them taken away.
    Result<KvPlan> keysAndValues() const;

private:
    std::string title_;
    std::shared_ptr<const Model> source_, model_; ///< null: `array_`
    std::string name_;
    Tensor array_;
};

/// Of a file, or synthetic while it is null.
Result<Tensor> inputsFor(const InputFile* file, const std::string& name, std::int64_t rows, std::int64_t columns);
/// The first rows of both, as many as both have.
void sameRows(Tensor& x, Tensor& g);
Result<Tensor> gradientsFor(const InputFile* file, const std::string& name, std::int64_t rows, std::int64_t columns);

} // namespace qs::value
