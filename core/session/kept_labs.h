// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Results of the labs as texts of a session file; see kept_results.h. Each is about one tensor under one spec.

#include "core/session/session_file.h"
#include "core/solve/row.h"
#include "core/value/kv_cache.h"
#include "core/value/product_lab.h"
#include "core/value/qat.h"
#include "core/value/what_if.h"

namespace qs {

/// Number of f32 values that one text can hold beside its other fields.
constexpr std::uint64_t kMostKeptFloats = (kLongestKept - (std::uint64_t(8) << 20)) / 16 * 3;

struct KeptTraining {
    std::string tensor;
    QuantSpec spec;     ///< the spec chosen for all tensors; result.spec is the spec of this tensor
    std::string inputs; ///< name of the file of inputs; "" means synthetic
    int rows = 0, steps = 0;
    double rate = 0;
    value::QatResult result; ///< without latent values if there are more than kMostKeptFloats
};
std::string keptTraining(const KeptTraining& training);
Result<std::shared_ptr<const KeptTraining>> trainingKept(const std::string& text, const Model& model);

struct KeptSolutions {
    std::string tensor;
    QuantSpec spec;
    std::vector<solve::SolveRow> rows;
    std::shared_ptr<const Solved> solved; ///< of the last row; null if it has more than kMostKeptFloats values
};
/// True if the text can hold it.
bool fitsKept(const Solved& solved);
std::string keptSolutions(const KeptSolutions& solutions);
Result<std::shared_ptr<const KeptSolutions>> solutionsKept(const std::string& text, const Model& model);

struct KeptProducts {
    std::string tensor;
    QuantSpec spec;
    value::LabChoices choices;
    int rows = 0, heads = 0, tokens = 0, dim = 0;
    std::string activations, gradients, blocks; ///< names of the files; "" means synthetic
    Result<std::vector<value::LabRow>> products;
    Result<std::vector<value::KvRow>> cache;
};
std::string keptProducts(const KeptProducts& products);
Result<std::shared_ptr<const KeptProducts>> productsKept(const std::string& text, const Model& model);

struct KeptOperations {
    std::string tensor;
    QuantSpec spec;
    std::vector<std::string> arguments; ///< one argument for each of whatIfOperations()
    std::vector<value::WhatIfRow> rows;
};
std::string keptOperations(const KeptOperations& operations);
Result<std::shared_ptr<const KeptOperations>> operationsKept(const std::string& text, const Model& model);

} // namespace qs
