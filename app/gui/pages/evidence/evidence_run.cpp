// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_records.h"

#include "core/base/text.h"
#include "core/eval/network/architecture.h"
#include "core/eval/network/network_weights.h"
#include "core/eval/run/base_reference.h"
#include "core/eval/run/self_noise.h"
#include "core/eval/tokenizer/tokenizer.h"
#include "core/export/recipe.h"
#include "core/serve/serve.h"

#include <bit>
#include <chrono>

namespace qs::gui {
namespace {

using Clock = std::chrono::steady_clock;
using Remedy = EvidenceTrouble::Remedy;
constexpr auto kBetweenMails = std::chrono::milliseconds(60);

EvidenceTrouble troubleOf(const Error& error, Remedy remedy, std::size_t context = 0) {
    return {oneSentence(error.message), remedy, context};
}

/// What would make evaluate() take the plan, from the facts that it judges.
EvidenceTrouble refusalOf(const Error& error, const eval::EvaluationPlan& plan, std::size_t positions) {
    if (positions > 0 && plan.context > positions) return troubleOf(error, Remedy::Context, positions);
    const std::size_t tokens = plan.text.tokens.size();
    if (plan.scored == eval::Scored::SecondHalf && tokens < plan.context && tokens >= 4)
        return troubleOf(error, Remedy::Context, std::bit_floor(tokens));
    return troubleOf(error, Remedy::AnotherText);
}

/// What a recipe does to all matrices, with the embedding and the head.
Result<eval::WeightChange> changeOf(const Model& model, const SessionRecipe& recipe, const eval::SpecScope& scope) {
    QuantizeRequest request;
    recipe.asRecipe().applyTo(request);
    return eval::quantizedAsAsked(model, recipe.title({}).toStdString(), recipeInWords(recipe.asRecipe()), request,
                                  scope);
}

/// The recipe and every spec, and each once more on the backend.
Result<std::vector<eval::WeightChange>> changesOf(const Model& model, const EvidenceSettings& settings,
                                                  const Job& job) {
    std::shared_ptr<eval::LinearServer> server;
    if (!settings.backend.empty()) {
        serve::ServingChoice choice;
        for (const BackendSource& source : backendSources({}))
            if (source.id == settings.backend) choice.source = source;
        releaseQuarantine(choice.source); // the user asks again
        auto opened = serve::openServer(choice, job);
        if (!opened) return tl::unexpected(opened.error());
        server = std::move(*opened);
    }
    std::vector<eval::WeightChange> out;
    const auto add = [&](eval::WeightChange change) {
        out.push_back(change);
        if (server) out.push_back(serve::servedBy(server, std::move(change)));
    };
    const auto scope = eval::scopeOf(model, {}, {});
    if (!scope) return tl::unexpected(scope.error());
    if (settings.recipe) {
        auto change = changeOf(model, *settings.recipe, *scope);
        if (!change) return tl::unexpected(change.error());
        add(std::move(*change));
    }
    for (const QuantSpec& spec : settings.specs) {
        auto own = eval::scopeOfSpec(model, *scope, spec);
        if (!own) return tl::unexpected(own.error());
        add(eval::quantizedAs(spec, std::move(*own)));
    }
    return out;
}

/// The base file in the place of the reference; its tokens are the text where there is no other, its context the plan's.
Result<void> takeBase(const Model& model, const EvidenceSettings& settings, eval::EvaluationPlan& plan,
                      const Job& job) {
    if (settings.base.empty()) return {};
    auto base = eval::BaseFile::open(settings.base);
    if (!base) return tl::unexpected(base.error());
    plan.context = base->header().context;
    if (plan.text.tokens.empty()) {
        auto hash = sha256OfFile(settings.base, job);
        if (!hash) return tl::unexpected(hash.error());
        plan.text.path = settings.base, plan.text.sha256 = std::move(*hash);
        plan.text.first = eval::firstTokenOf(model);
    }
    return eval::takeReference(plan, std::make_shared<const eval::BaseFile>(std::move(*base)));
}

} // namespace

QStringList EvidenceSettings::names() const {
    QStringList out;
    const auto add = [&](const QString& name) {
        out << name;
        if (!backend.empty()) out << name + QString::fromStdString(" on " + backend);
    };
    if (recipe) add(recipe->title({}));
    for (const QuantSpec& spec : specs) add(QString::fromStdString(specText(spec)));
    return out;
}

EvidenceGround evidenceGround(const std::shared_ptr<const Model>& model) {
    EvidenceGround out;
    auto network = eval::readNetwork(*model);
    if (!network) {
        out.trouble = troubleOf(network.error(), Remedy::AnotherModel);
        return out;
    }
    const auto weights = eval::NetworkWeights::of(model, *network);
    if (!weights) {
        out.trouble = troubleOf(weights.error(), Remedy::AnotherModel);
        return out;
    }
    const auto matrices = weights->matrices();
    out.matrices = matrices.size(), out.quantized = eval::quantizedOf(matrices);
    out.isEncoder = network->isEncoder;
    out.positions = std::size_t(std::max<std::int64_t>(0, network->positions));
    if (const auto tokenizer = eval::tokenizerOf(*model); !tokenizer)
        out.noTokenizer = oneSentence(tokenizer.error().message);
    return out;
}

namespace {

EvidenceAnswer answerOf(eval::EvaluationRecord record, Clock::time_point started) {
    record.seconds = std::chrono::duration<double>(Clock::now() - started).count();
    return {std::make_shared<const eval::EvaluationRecord>(std::move(record)), {}};
}

/// The figures of an encoder, or of a network that predicts tokens. An Error only when it was cancelled.
Result<EvidenceAnswer> evaluated(const std::shared_ptr<const Model>& model, const EvidenceSettings& settings,
                                 const EvidenceGround& ground, eval::EvaluationPlan plan, const Job& job,
                                 Inbox<EvidenceMail>& inbox) {
    const auto started = Clock::now();
    if (ground.isEncoder) {
        const auto result = eval::evaluateEmbeddings(model, plan, job);
        if (!result && result.error().cancelled) return tl::unexpected(result.error());
        if (!result) return EvidenceAnswer{nullptr, refusalOf(result.error(), plan, ground.positions)};
        return answerOf(eval::recordOf(plan, *result), started);
    }
    std::vector<eval::ProfileGatherer> gatherers(plan.changes.size(), eval::ProfileGatherer(plan.context));
    const auto profiles = [&] {
        EvidenceMail out;
        for (const auto& one : gatherers) out.push_back(one.profile());
        return out;
    };
    auto sent = Clock::now();
    plan.arrived = [&](std::size_t change, std::span<const eval::TokenScore> scores) {
        gatherers[change].add(scores);
        if (Clock::now() - sent < kBetweenMails) return;
        inbox.write([&](EvidenceMail& mail) { mail = profiles(); });
        sent = Clock::now();
    };
    auto result = eval::evaluate(model, plan, job);
    if (!result && result.error().cancelled) return tl::unexpected(result.error());
    if (!result) return EvidenceAnswer{nullptr, refusalOf(result.error(), plan, ground.positions)};
    plan.units = nullptr; // few chunks, which are no part of the text's
    const auto floor = eval::selfNoise(model, plan, job);
    if (!floor && floor.error().cancelled) return tl::unexpected(floor.error());
    if (floor) result->floor = *floor;

    std::shared_ptr<const eval::Tokenizer> tokenizer;
    if (!settings.ids)
        if (auto found = eval::tokenizerOf(*model)) tokenizer = *found;
    return answerOf(eval::recordOf(plan, *result, profiles(), tokenizer.get()), started);
}

} // namespace

Result<EvidenceAnswer> runEvidence(const std::shared_ptr<const Model>& model, const EvidenceSettings& settings,
                                   bool goesOn, EvidenceShared& shared, const Job& job, Inbox<EvidenceMail>& inbox) {
    const EvidenceGround ground = evidenceGround(model);
    if (ground.trouble) return EvidenceAnswer{nullptr, *ground.trouble};
    if (!settings.ids && !settings.path.empty() && !ground.noTokenizer.empty())
        return EvidenceAnswer{nullptr, {ground.noTokenizer, Remedy::TokenIds}};
    eval::EvaluationPlan plan;
    plan.context = settings.context, plan.chunks = settings.chunks, plan.scored = settings.scored;
    if (!settings.path.empty()) {
        auto text =
            settings.ids ? eval::textFromTokens(settings.path, job) : eval::textFromFile(*model, settings.path, job);
        if (!text && text.error().cancelled) return tl::unexpected(text.error());
        if (!text) return EvidenceAnswer{nullptr, troubleOf(text.error(), Remedy::AnotherText)};
        plan.text = std::move(*text);
    }
    if (auto done = takeBase(*model, settings, plan, job); !done) {
        if (done.error().cancelled) return tl::unexpected(done.error());
        return EvidenceAnswer{nullptr, troubleOf(done.error(), Remedy::NoBase)};
    }
    auto changes = changesOf(*model, settings, job);
    if (!changes && changes.error().cancelled) return tl::unexpected(changes.error());
    if (!changes) return EvidenceAnswer{nullptr, troubleOf(changes.error(), Remedy::NoBackend)};
    plan.changes = std::move(*changes);
    if (auto done = eval::measureSizes(*model, plan.changes, job); !done) return tl::unexpected(done.error());
    const auto records = recordsOf(*model, settings);
    if (records && !goesOn) (void)records->forget();
    plan.units = records.get(), shared.keeps = records != nullptr;
    plan.reached = [&](std::size_t known, std::size_t chunks) {
        if (records && shared.chunks == 0) (void)keepChunks(*records, chunks);
        shared.done = known, shared.chunks = chunks;
    };
    auto answer = evaluated(model, settings, ground, std::move(plan), job, inbox);
    if (answer && answer->record && records) (void)records->forget();
    return answer;
}

} // namespace qs::gui
