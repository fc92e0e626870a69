// SPDX-License-Identifier: GPL-3.0-or-later
// The row of a format, dialect, calibration, type of scales, layout or backend is the only place where its id is spelled:
// no other source compares words. What is looked for are string literals that are an id as a whole; sentences may name
// what they like. Columns of tables are named by the metric that they hold, so that of metrics no source outside of their
// rows may look one up.

#include "core/analysis/analysis.h"
#include "core/bench/backend/backend.h"
#include "core/layouts/layout.h"
#include "core/quant/spec/calibration.h"
#include "core/quant/spec/dialect.h"
#include "tests/support/test_program.h"

#include <QDirIterator>
#include <QFile>
#include <QtTest>

#include <algorithm>
#include <map>
#include <set>

using namespace qs;

namespace {

/// Ids that are words for other things as well: element types of tensors, which every file of numbers names, and plain
/// English. They say nothing of the file that holds them.
const std::set<std::string> kWords = {"f32",      "f16",      "bf16",         "int8",         "e8m0",
                                      "fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz", "binary",
                                      "codebook", "fixed",    "input",        "mse",          "std"};

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
    {"core/layouts/linear_weights.cpp", {"fp4"}, "a word of transformers' config.json"},
    {"core/layouts/layout_compressed_tensors.cpp",
     {"nvfp4", "mxfp4", "minmax"},
     "which of its program's packings holds a format; a word of its config.json"},
    {"core/model/conventions/",
     {"nf4", "fp4", "hqq", "mlx", "mxfp4", "mxfp8", "nvfp4", "gptq", "compressed-tensors"},
     "words in other programs' files"},
    {"core/recipes/formats/",
     {"nf4", "fp4", "nvfp4", "mxfp4", "mxfp8", "int2", "int3", "int4", "int5", "int6", "int7", "q2_k", "q3_k", "q4_k",
      "q5_k", "q6_k", "q4_0", "q5_0", "q5_1", "q8_0", "iq4_nl", "iq4_xs", "tq1_0", "tq2_0", "minmax", "qwix",
      "maxtext", "bnb", "compressed-tensors"},
     "words in other programs' recipes, and their names"},
    {"core/model/", {"gguf", "npz", "hdf5"}, "ids of file formats, which layouts share"},
    {"core/layouts/taken_tensors.cpp", {"gguf"}, "the file format of a model"},
    {"core/quant/spec/dialects/compressed_tensors.cpp", {"compressed-tensors"}, "the name of the program"},
    {"core/solve/", {"gptq"}, "the solver of that name"},
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

/// Where the rows of an id are.
std::map<std::string, std::vector<std::string>> homes() {
    std::map<std::string, std::vector<std::string>> out;
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

} // namespace

class RowIds : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void areSpelledInTheirRows();
    void metricsAreNotLookedUp();
    void literalsAreFound();
};

void RowIds::areSpelledInTheirRows() {
    const auto ids = homes();
    QVERIFY(ids.size() > 40);
    std::map<std::pair<std::string, std::string>, bool> used; // exception, id
    for (const Exception& exception : kExceptions)
        for (const std::string& id : exception.ids) used[{exception.file, id}] = false;
    int sources = 0;
    QStringList wrong;
    for (const char* root : {"app", "core", "plugins", "kernels"}) {
        const QStringList kinds = {QStringLiteral("*.cpp"), QStringLiteral("*.h"), QStringLiteral("*.cu"),
                                   QStringLiteral("*.cuh")};
        QDirIterator files(QString::fromLatin1(root), kinds, QDir::Files, QDirIterator::Subdirectories);
        while (files.hasNext()) {
            const std::string name = files.next().toStdString();
            QFile file(QString::fromStdString(name));
            QVERIFY(file.open(QIODevice::ReadOnly));
            ++sources;
            for (const auto& [line, text] : literals(file.readAll().toStdString())) {
                const auto found = ids.find(text);
                if (found == ids.end()) continue;
                const auto begins = [&](const std::string& place) { return name.starts_with(place); };
                if (std::any_of(found->second.begin(), found->second.end(), begins)) continue;
                bool excepted = false;
                for (const Exception& exception : kExceptions)
                    if (name.starts_with(exception.file) && exception.ids.contains(text))
                        excepted = used[{exception.file, text}] = true;
                if (!excepted)
                    wrong << QString::fromStdString(name + ":" + std::to_string(line) + " spells the id \"" + text +
                                                    "\": ask the row of " + found->second.front() + " for a fact");
            }
        }
    }
    QVERIFY(sources > 400);
    for (const auto& [exception, isUsed] : used)
        if (!isUsed)
            wrong << QString::fromStdString(exception.first + " does not spell \"" + exception.second +
                                            "\": take it off the list of exceptions");
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(u'\n')));
}

/// findMetric("nmse") stands beside the rows alone; others ask for nmseMetric().
void RowIds::metricsAreNotLookedUp() {
    QStringList wrong;
    int sources = 0;
    for (const char* root : {"app", "core"}) {
        QDirIterator files(QString::fromLatin1(root), {QStringLiteral("*.cpp"), QStringLiteral("*.h")}, QDir::Files,
                           QDirIterator::Subdirectories);
        while (files.hasNext()) {
            QFile file(files.next());
            QVERIFY(file.open(QIODevice::ReadOnly));
            ++sources;
            if (file.fileName() == QStringLiteral("core/analysis/metrics.cpp")) continue;
            if (file.readAll().contains("findMetric(\"")) wrong << file.fileName();
        }
    }
    QVERIFY(sources > 400);
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
