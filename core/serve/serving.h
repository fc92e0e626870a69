// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// An opened backend with what its matrices share: buffers, the choice of a variant, and the first failure.

#include "core/bench/run/opened.h"
#include "core/bench/run/operands.h"
#include "core/eval/network/served_matrix.h"
#include "core/serve/serve.h"

#include <set>

namespace qs::serve {

/// What a backend says about a problem, with the variant that is taken.
struct Taken {
    std::string variant;
    std::string declined; ///< why it is not taken; empty: it is
};

class Serving {
public:
    Serving(ServingChoice choice, OpenedBackend opened) : choice_(std::move(choice)), opened_(std::move(opened)) {}

    const ServingChoice& choice() const { return choice_; }
    /// Null: it has crashed or hung.
    Backend* backend() const { return opened_.backend.get(); }
    std::string place() const; ///< "the backend cpu", as sentences begin with it
    /// The variant for a problem: the one that was asked for, or the first that computes the format's own values.
    Result<Taken> take(const Problem& problem);
    /// Keeps the first failure, and ends a backend that crashed or hung. `step`: "multiply".
    void fail(const Failure& failure);
    const std::optional<Error>& failure() const { return failure_; }
    Error errorOf(const Failure& failure) const;
    /// A tensor in a buffer that all products of its size share.
    Result<HostTensor> shared(const char* role, const char* dtype, std::vector<std::int64_t> dims);

private:
    ServingChoice choice_;
    OpenedBackend opened_;
    std::optional<Error> failure_;
    std::map<std::pair<std::string, std::uint64_t>, std::shared_ptr<SharedBuffer>> buffers_;
};

/// A matrix on the backend. Its kernel is prepared with the first product, when the number of rows is known.
class BackendMatrix final : public eval::ServedMatrix {
public:
    /// `problem`: without rows. `used`: receives the variant.
    BackendMatrix(std::shared_ptr<Serving> serving, std::size_t outputs, std::size_t inputs, Problem problem,
                  const BenchAct& act, std::vector<HostTensor> weights, std::shared_ptr<std::set<std::string>> used)
        : ServedMatrix(outputs, inputs), serving_(std::move(serving)), problem_(std::move(problem)), act_(act),
          weights_(std::move(weights)), used_(std::move(used)) {}
    ~BackendMatrix() override;
    bool run(const float* x, std::size_t rows, float* y, const Job& job) override;

private:
    bool prepare(std::size_t rows);
    std::shared_ptr<Serving> serving_;
    Problem problem_;
    const BenchAct& act_;
    std::vector<HostTensor> weights_; ///< until they are prepared
    std::shared_ptr<std::set<std::string>> used_;
    std::optional<std::uint64_t> kernel_;
};

} // namespace qs::serve
