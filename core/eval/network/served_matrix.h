// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Products of layers that a server computes, such as a backend, in place of our own kernels. So the network runs as it
// would be served. The data flow:
//
//   weights of a tensor, as stored -> LinearServer::matrix() -> ServedMatrix, which holds them quantized
//   inputs of a layer [rows, inputs], f32 -> ServedMatrix::run() -> outputs [rows, outputs], f32
//
// Norms, attention, the embedding, routers and the head stay in f32 here. core/serve implements both classes on backends.

#include "core/base/job.h"
#include "core/model/model.h"

#include <optional>

namespace qs::eval {

/// A matrix of a layer: a tensor, or that of one expert where a tensor holds all.
struct MatrixToServe {
    const TensorView& stored;
    std::size_t outputs = 0, inputs = 0;
    bool inputsFirst = false; ///< stored as [inputs, outputs]; else [outputs, inputs]
    std::size_t begin = 0;    ///< its first value in the tensor
};

class ServedMatrix {
public:
    ServedMatrix(std::size_t outputs, std::size_t inputs) : outputs_(outputs), inputs_(inputs) {}
    virtual ~ServedMatrix() = default;
    ServedMatrix(const ServedMatrix&) = delete;
    ServedMatrix& operator=(const ServedMatrix&) = delete;

    std::size_t outputs() const { return outputs_; }
    std::size_t inputs() const { return inputs_; }
    /// y[rows, outputs] = x[rows, inputs] W^T, always for the same number of rows. False: cancelled, or
    /// LinearServer::failure() says why.
    virtual bool run(const float* x, std::size_t rows, float* y, const Job& job) = 0;

private:
    std::size_t outputs_, inputs_;
};

class LinearServer {
public:
    virtual ~LinearServer() = default;
    /// Errors: what the server cannot take, with what would work; cancelled.
    virtual Result<std::shared_ptr<ServedMatrix>> matrix(const MatrixToServe& matrix, const Job& job) = 0;
    /// Why a product has failed; none: none has.
    virtual std::optional<Error> failure() const = 0;
    /// What computes the products, for people: "cpu, int8 activations".
    virtual std::string title() const = 0;
};

} // namespace qs::eval
