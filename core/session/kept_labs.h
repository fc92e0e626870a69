// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the labs have computed, as texts of a session file: see kept_results.h. Each is of one tensor under one spec.

#include "core/session/session_file.h"
#include "core/solve/row.h"
#include "core/value/kv_cache.h"
#include "core/value/product_lab.h"
#include "core/value/qat.h"
#include "core/value/what_if.h"

namespace qs {

/// Values of f32 that one text has room for, beside all else in it.
constexpr std::uint64_t kMostKeptFloats = (kLongestKept - (std::uint64_t(8) << 20)) / 16 * 3;

struct KeptTraining {
    std::string tensor;
    QuantSpec spec;     ///< in force, of all tensors; result.spec is the tensor's own
    std::string inputs; ///< name of their file; "": synthetic
    int rows = 0, steps = 0;
    double rate = 0;
    value::QatResult result; ///< without latent values where they are more than kMostKeptFloats
};
std::string keptTraining(const KeptTraining& training);
Result<std::shared_ptr<const KeptTraining>> trainingKept(const std::string& text, const Model& model);

struct KeptSolutions {
    std::string tensor;
    QuantSpec spec;
    std::vector<solve::SolveRow> rows;
    std::shared_ptr<const Solved> solved; ///< of the last row; null where its values are more than kMostKeptFloats
};
/// Whether the text has room for it.
bool fitsKept(const Solved& solved);
std::string keptSolutions(const KeptSolutions& solutions);
Result<std::shared_ptr<const KeptSolutions>> solutionsKept(const std::string& text, const Model& model);

struct KeptProducts {
    std::string tensor;
    QuantSpec spec;
    value::LabChoices choices;
    int rows = 0, heads = 0, tokens = 0, dim = 0;
    std::string activations, gradients, blocks; ///< names of their files; "": synthetic
    Result<std::vector<value::LabRow>> products;
    Result<std::vector<value::KvRow>> cache;
};
std::string keptProducts(const KeptProducts& products);
Result<std::shared_ptr<const KeptProducts>> productsKept(const std::string& text, const Model& model);

struct KeptOperations {
    std::string tensor;
    QuantSpec spec;
    std::vector<std::string> arguments; ///< one for each of whatIfOperations()
    std::vector<value::WhatIfRow> rows;
};
std::string keptOperations(const KeptOperations& operations);
Result<std::shared_ptr<const KeptOperations>> operationsKept(const std::string& text, const Model& model);

} // namespace qs
