// SPDX-License-Identifier: GPL-3.0-or-later
// Bytes of a file of records that cannot be trusted. The result must be an error, or the records that are whole. Then
// values over those of a good record, with its checksum made right, through what commands do with it.
#include "core/analysis/analysis.h"
#include "core/analysis/audit/audit.h"
#include "core/eval/capture/capture.h"
#include "core/eval/run/embeddings.h"
#include "core/eval/run/record.h"
#include "core/eval/scores/score_profile.h"
#include "core/eval/sensitivity/sensitivity.h"
#include "core/eval/tokenizer/token_file.h"
#include "core/quant/encode/quantizer.h"
#include "core/records/unit_run.h"
#include "tests/support/changed_records.h"

#include <QTemporaryDir>
#include <cstdlib>
#include <functional>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using namespace qs;

/// A computation, and the file of the records that it has written.
struct Subject {
    std::function<void(UnitRun&)> compute;
    test::RecordsFile file = {};
};

std::shared_ptr<const Model> modelOf(const char* family) {
    const auto model = openModel(std::string(QS_FUZZ_DATA "/eval/") + family);
    if (!model) std::abort();
    return *model;
}

std::vector<std::int32_t> tokensOf(const char* family) {
    const auto tokens = eval::readTokens(std::string(QS_FUZZ_DATA "/eval/") + family + "/tokens.npy");
    if (!tokens) std::abort();
    return {tokens->begin(), tokens->begin() + 8};
}

/// Two chunks of 4 tokens.
eval::EvaluationPlan evaluationOf(const char* family, UnitRun& units) {
    eval::EvaluationPlan plan;
    plan.text.tokens = tokensOf(family), plan.context = 4, plan.units = &units;
    plan.changes = {eval::quantizedAs(*parseSpec("int4:block=16"))};
    return plan;
}

void analyseOne(UnitRun& units) {
    static const auto model = modelOf("llama");
    AnalysisPlan plan{model, {&model->tensors.front()}, {}, {}};
    plan.specs.emplace_back("int4", *parseSpec("int4"));
    plan.units = &units;
    units.begin(weightOf(plan));
    if (const auto result = analyse(plan, {})) (void)jsonRows(makeTable({}, analysisColumns(), result->rows));
}

void audit(UnitRun& units) {
    static const auto model = modelOf("llama");
    (void)auditModel(model, {}, &units);
}

void evaluateOne(UnitRun& units) {
    static const auto model = modelOf("llama");
    auto plan = evaluationOf("llama", units);
    eval::ProfileGatherer profile(plan.context);
    plan.arrived = [&](std::size_t, std::span<const eval::TokenScore> scores) { profile.add(scores); };
    const auto result = eval::evaluate(model, plan, Job());
    if (result && units.isWhole()) (void)recordSection(recordOf(plan, *result, {profile.profile()}, nullptr));
}

void embed(UnitRun& units) {
    static const auto model = modelOf("bert");
    const auto plan = evaluationOf("bert", units);
    if (const auto result = eval::evaluateEmbeddings(model, plan, Job())) (void)recordSection(recordOf(plan, *result));
}

template<int How> void measure(UnitRun& units) {
    static const auto model = modelOf("llama");
    eval::SensitivityPlan plan;
    plan.text.tokens = tokensOf("llama"), plan.context = 4, plan.units = &units;
    plan.how = eval::findSensitivityHow(How ? "output" : "alone"), plan.by = eval::findGrouping("layer");
    plan.specs = {*parseSpec("int4:block=16")};
    (void)eval::sensitivity(model, plan, Job());
}

template<int Kind> void capture(UnitRun& units) {
    static const auto model = modelOf("mixtral");
    static const QTemporaryDir dir;
    const auto& kind = eval::captureKinds()[Kind];
    eval::CapturePlan plan;
    plan.text = {"text", "0", tokensOf("mixtral")}, plan.context = 4, plan.units = &units;
    (void)kind.write(model, plan, (dir.path().toStdString() + "/out") + kind.extension, Job());
}

std::unique_ptr<UnitRun> opened(UnitRun::Settings settings) {
    settings.origin = {{"a command"}, "its settings"};
    auto run = UnitRun::open(std::move(settings));
    if (!run) std::abort();
    return std::move(*run);
}

std::vector<Subject> made() {
    std::vector<Subject> out = {{analyseOne}, {audit},      {evaluateOne}, {embed},     {measure<0>},
                                {measure<1>}, {capture<0>}, {capture<1>},  {capture<2>}};
    for (Subject& subject : out) {
        const QTemporaryDir dir;
        UnitRun::Settings settings;
        settings.folder = dir.path().toStdString();
        {
            const auto run = opened(settings);
            subject.compute(*run);
            if (!run->finish()) std::abort();
        }
        for (const QString& name : QDir(dir.path()).entryList({QStringLiteral("*.records")})) {
            const auto file = test::RecordsFile::read(dir.filePath(name));
            subject.file.head = file.head;
            subject.file.records.insert(subject.file.records.end(), file.records.begin(), file.records.end());
        }
        if (subject.file.records.empty()) std::abort();
    }
    return out;
}

/// A file in memory, and its name.
class InMemory {
public:
    InMemory(const char* bytes, std::size_t size) : fd_(::memfd_create("records", 0)) {
        if (fd_ < 0 || ::write(fd_, bytes, size) != ssize_t(size)) std::abort();
    }
    InMemory(const InMemory&) = delete;
    InMemory& operator=(const InMemory&) = delete;
    ~InMemory() { ::close(fd_); }
    std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

private:
    int fd_;
};

const std::vector<Subject>& subjects() {
    static const auto all = made();
    return all;
}

/// Of each 12 bytes the first two choose a record, the next two a place in it, and the rest is put there.
void changeAndCompute(const std::uint8_t* data, std::size_t size) {
    const Subject& subject = subjects()[data[0] % subjects().size()];
    auto file = subject.file;
    for (++data, --size; size >= 12; data += 12, size -= 12) {
        auto& bytes = file.records[(data[0] | data[1] << 8) % file.records.size()].bytes;
        if (bytes.isEmpty()) continue;
        const auto at = qsizetype((data[2] | data[3] << 8) % bytes.size());
        std::memcpy(bytes.data() + at, data + 4, std::min<std::size_t>(8, std::size_t(bytes.size() - at)));
    }
    const QByteArray whole = file.whole();
    const InMemory place(whole.constData(), std::size_t(whole.size()));
    UnitRun::Settings settings;
    settings.places = {place.path()}, settings.isMerge = true;
    const auto run = opened(std::move(settings));
    subject.compute(*run);
    (void)run->finish();
}

} // namespace

/// Here, because the computations take longer than an input may.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
    (void)subjects();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto* text = reinterpret_cast<const char*>(data);
    const InMemory place(text, size);
    const auto origins = qs::RecordFiles::originsIn({place.path()});
    if (!origins && origins.error().message.empty()) std::abort();
    const qs::RecordsOrigin origin = origins ? origins->front() : qs::RecordsOrigin{{"audit"}, "about\n"};
    const auto files = qs::RecordFiles::open({place.path()}, {}, origin);
    if (files.has_value() != origins.has_value()) std::abort();
    if (files) files->find("key", [](const std::string&) { return false; });
    // The same bytes as values of several kinds
    const std::string_view bytes(text, size);
    (void)qs::archive::valueOf<std::vector<std::pair<std::string, std::optional<double>>>>(bytes);
    (void)qs::archive::valueOf<std::vector<std::vector<bool>>>(bytes);
    if (size > 0 && !origins) changeAndCompute(data, size);
    return 0;
}
