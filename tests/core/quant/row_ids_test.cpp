// SPDX-License-Identifier: GPL-3.0-or-later
// The row of a registry is the only place where its id is spelled: no other source compares words. What is looked for are
// string literals that are an id as a whole; sentences may name what they like.
// Columns of tables have the ids of the metrics that they hold, and some ids are plain words. So no source outside of the
// rows may look one of them up by a literal either.

#include "core/analysis/analysis.h"
#include "core/bench/backend/backend.h"
#include "core/eval/capture/capture.h"
#include "core/eval/files/imports/imports.h"
#include "core/eval/network/architecture.h"
#include "core/eval/sensitivity/how.h"
#include "core/eval/sensitivity/units.h"
#include "core/layouts/layout.h"
#include "core/plan/heuristic.h"
#include "core/quant/spec/calibration.h"
#include "core/quant/spec/dialect.h"
#include "core/solve/solver.h"
#include "tests/support/test_program.h"

#include <QDirIterator>
#include <QFile>
#include <QtTest>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

using namespace qs;

namespace {

/// Ids that are words for other things as well: element types of tensors, which every file of numbers names, and plain
/// English. They say nothing of the file that holds them; isFoundByItsId() looks for those that are asked for.
const std::set<std::string> kWords = {
    "f32",      "f16",   "bf16",  "int8", "e8m0", "fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz", "binary",
    "codebook", "fixed", "input", "mse",  "std",  "tensor",   "layer",    "role",         "output",       "rows"};

struct Exception {
    const char* file; ///< or a folder, with a slash at its end
    std::set<std::string> ids;
    const char* reason;
};
const std::vector<Exception> kExceptions = {
    {"app/gui/session.cpp", {"nf4"}, "the spec that the window begins with"},
    {"core/quant/spec/spec.h", {"nf4"}, "the spec that is changed field by field"},
    {"core/analysis/sweep/sweep_specs.cpp",
     {"nf4", "af4", "int2", "int3", "int4", "int5", "int6", "mxfp4", "ternary", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k",
      "q4_0", "iq4_xs"},
     "formats that a sweep is filled with; all others can be asked for"},
    {"core/value/product_lab.cpp", {"nf4", "int4"}, "presets, which are specs as text"},
    {"core/layouts/linear_weights.cpp", {"fp4"}, "words of transformers' config.json"},
    {"core/layouts/stacked_experts.cpp", {"qwen3_moe"}, "model_type of config.json, as mlx_lm names networks"},
    {"core/layouts/layout_compressed_tensors.cpp",
     {"nvfp4", "mxfp4", "minmax"},
     "which of its program's packings holds a format; a word of its config.json"},
    {"core/model/conventions/",
     {"nf4", "fp4", "hqq", "mlx", "mxfp4", "mxfp8", "nvfp4", "gptq", "awq", "bitnet", "compressed-tensors"},
     "words in other programs' files"},
    {"core/recipes/formats/",
     {"nf4",    "fp4",    "nvfp4", "mxfp4", "mxfp8",  "int2", "int3", "int4",    "int5", "int6",
      "int7",   "q2_k",   "q3_k",  "q4_k",  "q5_k",   "q6_k", "q4_0", "q5_0",    "q5_1", "q8_0",
      "iq4_nl", "iq4_xs", "tq1_0", "tq2_0", "minmax", "qwix", "e4m3", "maxtext", "bnb",  "compressed-tensors"},
     "words in other programs' recipes, and their names"},
    {"core/model/", {"gguf", "npz", "hdf5"}, "ids of file formats, which layouts share"},
    {"core/layouts/taken_tensors.cpp", {"gguf"}, "the file format of a model"},
    {"core/quant/spec/dialects/compressed_tensors.cpp", {"compressed-tensors"}, "the name of the program"},
    {"core/solve/solver.h", {"gptq"}, "the solver where none is named"},
    {"core/eval/network/config.cpp",
     {"llama", "mistral", "gemma", "gemma3"},
     "which language model is inside of a model with pictures: words of config.json"},
    {"core/eval/tokenizer/", {"bert", "gpt2", "llama", "qwen2"}, "words of tokenizers' files; names of expressions"},
    {"core/model/", {"bert", "gpt2"}, "model_type of config.json, a prefix of tensors' names"},
    {"core/model/", {"imatrix"}, "a file format, and a word in such files"},
    {"core/eval/capture/tensor_inputs.cpp", {"gram"}, "a word in the file that is written"},
    {"core/eval/trust/trust_tables.cpp", {"alone"}, "a column"},
    {"core/eval/trust/evidence_files.cpp", {"slope"}, "a column"},
    {"core/session/kept_sensitivity.cpp", {"slope"}, "a key of session files"},
    {"core/eval/sensitivity/sensitivity_row.cpp", {"slope"}, "a column"},
    {"app/gui/pages/audit/audit_page.cpp", {"audit", "evidence", "tensor"}, "a key of session files; columns"},
    {"app/gui/restored_evidence.h", {"evidence"}, "a key of session files"},
    {"app/gui/pages/export/export_page.cpp", {"export"}, "a key of session files"},
    {"app/gui/pages/export/export_plan_view.cpp", {"tensor"}, "a column"},
    {"app/gui/pages/labs/lab_solvers.cpp", {"tensor"}, "a column"},
    {"app/gui/pages/plan/plan_charts.cpp", {"plan"}, "the name of a mark"},
    {"app/gui/pages/plan/plan_units.cpp", {"tensor"}, "a column"},
    {"app/gui/pages/plan/plan_page.cpp", {"plan"}, "a key of session files"},
    {"app/gui/pages/start/start_page.cpp", {"tensor"}, "an icon"},
    {"app/gui/pages/sweep/sweep_page.cpp", {"sweep"}, "a key of session files"},
    {"app/gui/widgets/recipe_dialog.cpp", {"tensor"}, "a column"},
    {"app/gui/widgets/verify_dialog.cpp", {"tensor"}, "a column"},
    {"app/gui/session_saver.cpp", {"tensor"}, "a key of session files"},
    {"app/gui/session_state.cpp", {"tensor"}, "a key of session files"},
    {"app/gui/model_opener.cpp", {"tensor"}, "a key of session files"},
    {"app/gui/main.cpp", {"tensor"}, "an option"},
    {"app/gui/spec_edit.cpp", {"tensor"}, "a value of scale="},
    {"app/gui/pages/backends/backends_matrix.cpp", {"native"}, "an English word"},
    {"core/report/machine.cpp", {"cpu"}, "a key of the provenance"},
    {"core/bench/run/machine_load.cpp", {"cpu"}, "a word of /proc/stat"},
    {"core/bench/backend/backend_columns.cpp", {"cpu"}, "a kind of devices"},
    {"core/model/zarr/array.cpp", {"int2", "int4"}, "element types of zarr"},
    {"kernels/reference/", {"nf4", "ternary"}, "how the two formats with a kernel of their own are stored"},
    {"plugins/", {"nf4"}, "a backend names what it has a kernel for; formats cross the interface as text"},
};

/// String literals of one source, without comments and raw strings.
std::vector<std::pair<int, std::string>> literals(const std::string& text) {
    std::vector<std::pair<int, std::string>> out;
    int line = 1;
    const auto isAt = [&](std::size_t at, const char* what) { return text.compare(at, std::strlen(what), what) == 0; };
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\n') ++line;
        if (isAt(i, "//")) {
            i = std::min(text.find('\n', i), text.size()) - 1;
        } else if (isAt(i, "/*")) {
            const std::size_t end = std::min(text.find("*/", i + 2), text.size() - 1);
            line += int(std::count(text.begin() + std::ptrdiff_t(i), text.begin() + std::ptrdiff_t(end), '\n'));
            i = end + 1;
        } else if (isAt(i, "R\"(")) {
            const std::size_t end = std::min(text.find(")\"", i), text.size() - 1);
            line += int(std::count(text.begin() + std::ptrdiff_t(i), text.begin() + std::ptrdiff_t(end), '\n'));
            i = end + 1;
        } else if (text[i] == '\'' && i > 0 && !std::isalnum(static_cast<unsigned char>(text[i - 1]))) {
            i += text.compare(i + 1, 1, "\\") == 0 ? 3 : 2; // a character, which may be a quote
        } else if (text[i] == '"') {
            std::string one;
            for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i) {
                if (text[i] == '\\') ++i;
                one += text[i];
            }
            out.emplace_back(line, one);
        }
    }
    return out;
}

std::string textOf(const char* path) {
    QFile file(QString::fromLatin1(path));
    return file.open(QIODevice::ReadOnly) ? file.readAll().toStdString() : std::string();
}

/// Ids of pages, out of their rows: the test has no window.
std::set<std::string> pageIds() {
    const std::string text = textOf("app/gui/page.cpp"), begin = ".id = \"";
    std::set<std::string> out;
    for (auto at = text.find(begin); at != text.npos; at = text.find(begin, at + 1))
        out.insert(text.substr(at + begin.size(), text.find('"', at + begin.size()) - at - begin.size()));
    return out;
}

/// Where the rows of an id are.
using Homes = std::map<std::string, std::vector<std::string>>;
Homes homes() {
    Homes out;
    for (const eval::Architecture& row : eval::architectures()) out[row.id].push_back("core/eval/network/families/");
    for (const eval::SensitivityHow& row : eval::sensitivityHows())
        out[row.id].push_back("core/eval/sensitivity/how.cpp");
    for (const eval::Grouping& row : eval::groupings()) out[row.id].push_back("core/eval/sensitivity/units.cpp");
    for (const eval::CaptureKind& row : eval::captureKinds()) out[row.id].push_back("core/eval/capture/capture.cpp");
    for (const eval::ImportFormat& row : eval::importFormats()) out[row.id].push_back("core/eval/files/imports/");
    for (const plan::Heuristic& row : plan::heuristics()) out[row.id].push_back("core/plan/heuristic.cpp");
    for (const solve::Solver& row : solve::solvers()) out[row.id].push_back("core/solve/solver.cpp");
    for (const FormatTraits& format : formats()) out[format.id].push_back("kernels/format.cpp");
    for (const Dialect* row : dialects()) out[row->id].push_back("core/quant/spec/dialects/");
    for (const CalibrationTraits* row : calibrationRows()) out[row->id].push_back("core/quant/spec/calibrations/");
    for (const ScaleType* row : scaleTypeRows()) out[row->id].push_back("core/quant/spec/scale_type.cpp");
    for (const Layout& row : layouts()) {
        std::string file = row.id;
        std::replace(file.begin(), file.end(), '-', '_');
        out[row.id].push_back("core/layouts/layout_" + file + ".cpp");
    }
    for (const BackendSource& row : backendSources({}))
        for (const std::string place : {"core/bench/backend/backend_sources.cpp", "plugins/"})
            out[row.id].push_back(place);
    for (const std::string& word : kWords) out.erase(word);
    return out;
}

int forEachSource(const std::function<void(const std::string& name, const std::string& text)>& each) {
    int sources = 0;
    for (const char* root : {"app", "core", "plugins", "kernels"}) {
        const QStringList kinds = {QStringLiteral("*.cpp"), QStringLiteral("*.h"), QStringLiteral("*.cu"),
                                   QStringLiteral("*.cuh")};
        QDirIterator files(QString::fromLatin1(root), kinds, QDir::Files, QDirIterator::Subdirectories);
        for (; files.hasNext(); ++sources) {
            const std::string name = files.next().toStdString();
            each(name, textOf(name.c_str()));
        }
    }
    return sources;
}

} // namespace

class RowIds : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void areSpelledInTheirRows();
    void noneIsFoundByItsId();
    void literalsAreFound();
};

void RowIds::areSpelledInTheirRows() {
    const Homes ids = homes();
    Homes pages;
    for (const std::string& id : pageIds()) pages[id].push_back("app/gui/page.cpp");
    QVERIFY(ids.size() > 80 && pages.size() > 10);
    std::map<std::pair<std::string, std::string>, bool> used; // exception, id
    for (const Exception& exception : kExceptions)
        for (const std::string& id : exception.ids) used[{exception.file, id}] = false;
    QStringList wrong;
    const auto check = [&](const Homes& rows, const std::string& name, int line, const std::string& text) {
        const auto found = rows.find(text);
        if (found == rows.end()) return;
        const auto begins = [&](const std::string& place) { return name.starts_with(place); };
        if (std::any_of(found->second.begin(), found->second.end(), begins)) return;
        bool excepted = false;
        for (const Exception& exception : kExceptions)
            if (begins(exception.file) && exception.ids.contains(text)) excepted = used[{exception.file, text}] = true;
        if (!excepted)
            wrong << QString::fromStdString(name + ":" + std::to_string(line) + " spells the id \"" + text +
                                            "\": ask the row of " + found->second.front() + " for a fact");
    };
    const int sources = forEachSource([&](const std::string& name, const std::string& source) {
        for (const auto& [line, text] : literals(source)) {
            check(ids, name, line, text);
            if (name.starts_with("app/gui/")) check(pages, name, line, text);
        }
    });
    QVERIFY(sources > 1000);
    for (const auto& [exception, isUsed] : used)
        if (!isUsed)
            wrong << QString::fromStdString(exception.first + " does not spell \"" + exception.second +
                                            "\": take it off the list of exceptions");
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(u'\n')));
}

/// findMetric("nmse") stands beside the rows alone; others ask for nmseMetric().
void RowIds::noneIsFoundByItsId() {
    const std::vector<std::pair<std::string, std::string>> finders = {{"findMetric", "core/analysis/metrics.cpp"},
                                                                      {"findFormat", ""},
                                                                      {"findCalibration", ""},
                                                                      {"findScaleType", ""},
                                                                      {"findDialect", ""},
                                                                      {"findLayout", ""},
                                                                      {"findSolver", ""},
                                                                      {"findGrouping", ""},
                                                                      {"findSensitivityHow", ""},
                                                                      {"findObjective", ""},
                                                                      {"findReportWriter", ""},
                                                                      {"findBackend", ""},
                                                                      {"showPage", ""},
                                                                      {"findConvention", ""}};
    // The kernels' own formats: the one that activations are rounded to, and the one with a packed kernel.
    const std::set<std::string> excepted = {"kernels/matmul_operands.cpp", "kernels/reference/nf4_packed.cpp"};
    QStringList wrong;
    forEachSource([&](const std::string& name, const std::string& source) {
        for (const auto& [finder, home] : finders)
            for (const char* begin : {"(\"", "(QStringLiteral(", "(QLatin1String("})
                if (source.find(finder + begin) != source.npos && name != home && !excepted.contains(name))
                    wrong << QString::fromStdString(name + " calls " + finder + " with a literal");
    });
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(u'\n')));
    QVERIFY(findMetric(nmseMetric().id) == &nmseMetric() && findMetric(sqnrMetric().id) == &sqnrMetric());
}

void RowIds::literalsAreFound() {
    const auto found =
        literals("a(\"nf4\"); // \"int4\"\n/* \"q4_0\"\n */ b('\"', \"qwix\"); c(\"a \\\" b\"); d('\\\\', \"x\");");
    const std::vector<std::pair<int, std::string>> wanted = {{1, "nf4"}, {3, "qwix"}, {3, "a \" b"}, {3, "x"}};
    QCOMPARE(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        QCOMPARE(found[i].first, wanted[i].first);
        QCOMPARE(found[i].second, wanted[i].second);
    }
}

QS_TEST(RowIds)
#include "row_ids_test.moc"
