// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/serve/serve.h"

#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/serve/serving.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qs::serve {
namespace {

constexpr std::int64_t kUsualRows = 512; ///< of a product, for questions before the number is known

/// Specs that many backends take, as advice where one is declined.
constexpr std::size_t kMostAdvice = 3;
constexpr const char* kCommonSpecs[] = {"int8", "nf4:block=64", "int4:block=64", "bf16", "f32"};

/// The products of one change. Without a spec of its own it only opens the backend.
class Server final : public eval::LinearServer {
public:
    using SpecOf = std::function<const QuantSpec*(const TensorInfo&)>;
    Server(std::shared_ptr<Serving> serving, SpecOf specOf) : serving_(std::move(serving)), specOf_(std::move(specOf)) {
        if (!serving_->choice().act.empty()) act_ = findBenchAct(serving_->choice().act);
    }
    const std::shared_ptr<Serving>& serving() const { return serving_; }

    Result<std::shared_ptr<eval::ServedMatrix>> matrix(const eval::MatrixToServe& wanted, const Job& job) override {
        const TensorInfo& tensor = *wanted.stored.info;
        const QuantSpec* spec = specOf_ ? specOf_(tensor) : nullptr;
        if (!spec) return fail("This tensor has no spec.");
        auto problem = problemOf(wanted, *spec);
        if (!problem) return tl::unexpected(problem.error());
        if (auto fine = choose(*problem, wanted, *spec); !fine) return tl::unexpected(fine.error());
        problem->act = actFormat(*act_), problem->dynamicAct = act_->dynamic;
        auto values = std::make_shared<std::vector<float>>(wanted.outputs * wanted.inputs);
        loadF32(wanted.stored, wanted.begin, values->size(), values->data());
        const auto [rows, columns] = storedShape(wanted);
        auto weights = makeWeights(*spec, rows, columns, std::move(values), job, wanted.inputsFirst);
        if (!weights) return tl::unexpected(weights.error());
        return std::make_shared<BackendMatrix>(serving_, wanted.outputs, wanted.inputs, std::move(*problem), *act_,
                                               (*weights)->inputs, used_);
    }
    std::optional<Error> failure() const override { return serving_->failure(); }
    std::string title() const override {
        std::string out = serving_->choice().source.id;
        if (act_) out += fmt::format(", {} activations", act_->id);
        if (!used_->empty()) out += fmt::format(", {}", fmt::join(*used_, " "));
        return out;
    }

private:
    static std::pair<std::int64_t, std::int64_t> storedShape(const eval::MatrixToServe& wanted) {
        const auto outputs = std::int64_t(wanted.outputs), inputs = std::int64_t(wanted.inputs);
        return wanted.inputsFirst ? std::pair(inputs, outputs) : std::pair(outputs, inputs);
    }

    /// Without activations. Errors: the spec does not cross the interface, or does not fit the shape.
    Result<Problem> problemOf(const eval::MatrixToServe& wanted, const QuantSpec& spec) const {
        const auto [rows, columns] = storedShape(wanted);
        TensorInfo shape;
        shape.name = wanted.stored.info->name, shape.shape = {rows, columns};
        shape.elements = std::uint64_t(rows * columns), shape.outputLast = wanted.inputsFirst;
        const auto grid = scaleGrid(spec, shape);
        if (!grid) return tl::unexpected(grid.error());
        auto format = weightFormat(*composedPlan(forTensor(spec, shape)), *grid);
        if (!format) return declined(wanted, spec, "because " + format.error().sentence());
        Problem out;
        out.m = kUsualRows, out.n = std::int64_t(wanted.outputs), out.k = std::int64_t(wanted.inputs);
        out.wIsKn = wanted.inputsFirst, out.weight = std::move(*format);
        return out;
    }

    /// Decides the activations with the first matrix, and asks whether the backend takes it.
    Result<void> choose(Problem problem, const eval::MatrixToServe& wanted, const QuantSpec& spec) {
        std::string why;
        for (const BenchAct& act : benchActs()) {
            if (act_ ? act_ != &act : serving_->choice().variant.empty() && &act != &benchActs().front()) continue;
            problem.act = actFormat(act), problem.dynamicAct = act.dynamic;
            const auto taken = serving_->take(problem);
            if (!taken) return tl::unexpected(taken.error());
            if (taken->declined.empty()) {
                act_ = &act;
                return {};
            }
            if (why.empty()) why = fmt::format("under {} activations: {}", act.id, taken->declined);
        }
        return declined(wanted, spec, why, &problem);
    }

    /// With what would work: other activations, else other specs.
    tl::unexpected<Error> declined(const eval::MatrixToServe& wanted, const QuantSpec& spec, std::string why,
                                   const Problem* problem = nullptr) const {
        while (why.ends_with('.')) why.pop_back();
        Error error;
        error.message =
            fmt::format("The backend {} does not take {} as {} {}", escapeForPeople(serving_->choice().source.id, 60),
                        wanted.stored.info->name, specText(spec), why);
        std::vector<std::string> acts;
        for (const BenchAct& act : benchActs())
            if (problem && takes(*problem, act)) acts.emplace_back(act.id);
        if (!acts.empty()) {
            error.message += fmt::format("; it does with {} activations.", fmt::join(acts, " or "));
            return tl::unexpected(std::move(error));
        }
        for (const char* text : kCommonSpecs)
            if (auto other = parseSpec(text); other && canonicalText(*other) != canonicalText(spec))
                if (const auto asked = crossing(wanted, *other))
                    if (takes(*asked, act_ ? *act_ : benchActs().front())) error.works.emplace_back(text);
        if (error.works.size() > kMostAdvice) error.works.resize(kMostAdvice);
        if (error.works.empty()) error.message += ".";
        return tl::unexpected(std::move(error));
    }
    bool takes(Problem problem, const BenchAct& act) const {
        if (!serving_->backend()) return false;
        problem.act = actFormat(act), problem.dynamicAct = act.dynamic;
        const auto support = serving_->backend()->query(0, problem);
        const std::string& variant = serving_->choice().variant;
        return support && support->level > 0 && std::ranges::any_of(support->variants, [&](const Variant& one) {
                   return variant.empty() || one.id == variant;
               });
    }
    std::optional<Problem> crossing(const eval::MatrixToServe& wanted, const QuantSpec& spec) const {
        if (whyNotCrossing(spec)) return std::nullopt;
        auto problem = problemOf(wanted, spec);
        return problem ? std::optional(std::move(*problem)) : std::nullopt;
    }

    std::shared_ptr<Serving> serving_;
    SpecOf specOf_;
    const BenchAct* act_ = nullptr; ///< null: not decided yet
    std::shared_ptr<std::set<std::string>> used_ = std::make_shared<std::set<std::string>>();
};

} // namespace

Result<std::shared_ptr<eval::LinearServer>> openServer(const ServingChoice& choice, const Job& job) {
    if (!choice.act.empty() && !findBenchAct(choice.act))
        return advise(fmt::format("There are no activations {}", escapeForPeople(choice.act, 40)), idsOf(benchActs()));
    BenchmarkPlan plan;
    plan.threads = choice.threads, plan.open = choice.open;
    OpenedBackend opened = openForBenchmark(plan, choice.source, job);
    if (job.cancelled()) return cancelledError();
    const Failure failure = opened.failure;
    auto serving = std::make_shared<Serving>(choice, std::move(opened));
    if (!serving->backend()) return tl::unexpected(serving->errorOf(failure));
    return std::make_shared<Server>(std::move(serving), Server::SpecOf());
}

eval::WeightChange servedBy(const std::shared_ptr<eval::LinearServer>& server, eval::WeightChange exact) {
    const auto& opened = static_cast<const Server&>(*server);
    exact.server = std::make_shared<Server>(opened.serving(), exact.specOf);
    return exact;
}

} // namespace qs::serve
