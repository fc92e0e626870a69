// SPDX-License-Identifier: GPL-3.0-or-later
// Measures how long the window blocks its event loop while a model with many tensors is opened, swept, filtered, sorted
// and flattened. Prints the longest event handlers of the GUI thread. Usage: bench_turns [LAYERS] [PAGE]
#include "app/gui/main_window.h"
#include "app/gui/page.h"
#include "app/gui/pages/report/report_page.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/tensor_browser.h"
#include "app/gui/widgets/tensor_tree.h"
#include "tests/app/gui/opened_session.h"
#include "tests/bench/timed_application.h"

#include <QLineEdit>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QToolButton>
#include <QTreeView>

#include <cstdio>
#include <map>

using namespace qs;
using namespace qs::gui;

namespace {

void report(TimedApplication& app, const char* what, double seconds) {
    std::printf("%-32s %6.2f s, longest turn %.1f ms of CPU time, p99 %.1f ms\n", *what ? what : "no filter", seconds,
                percentile(app.cpuTurns, 100), percentile(app.cpuTurns, 99));
    std::map<QByteArray, std::pair<double, int>> worst;
    for (const auto& turn : app.longest) {
        auto& [ms, count] = worst[turn.receiver];
        ms = std::max(ms, turn.cpuMs);
        ++count;
    }
    for (const auto& [receiver, entry] : worst)
        if (entry.first > 8)
            std::printf("    %6.1f ms at most, %d over 4 ms: %s\n", entry.first, entry.second, receiver.constData());
    std::fflush(stdout);
    app.forget();
}

} // namespace

int main(int argc, char** argv) {
    TimedApplication app(argc, argv);
    QCoreApplication::setOrganizationName(QStringLiteral("QuantScope"));
    QCoreApplication::setApplicationName(QStringLiteral("QuantScopeBench"));
    Theme::install(Theme::Mode::Dark);
    const int layers = argc > 1 ? std::atoi(argv[1]) : 1500;
    const auto page = QString::fromLatin1(argc > 2 ? argv[2] : "overview");
    QTemporaryDir folder;
    const auto path = writeLayeredModel(folder.filePath(QStringLiteral("many.safetensors")), layers, 2);
    if (path.isEmpty()) {
        std::fprintf(stderr, "the temporary file could not be written\n");
        return 1;
    }
    Session session;
    MainWindow window(session);
    window.show();
    QTest::qWait(300);
    app.forget();
    QElapsedTimer clock;
    const auto step = [&](const char* what, const std::function<void()>& act, const std::function<bool()>& done) {
        clock.start();
        QTimer::singleShot(0, &window, act); // runs as an event, so that it is measured
        QTest::qWait(1);
        if (!QTest::qWaitFor(done, 240'000)) std::fprintf(stderr, "%s did not end\n", what);
        const double seconds = double(clock.nsecsElapsed()) / 1e9;
        QTest::qWait(300); // includes what is painted later
        report(app, what, seconds);
    };
    auto* view = window.browser().view();
    const auto quiet = [] { return true; };
    std::printf("%d tensors, page %s\n", 7 * layers, qPrintable(page));
    step(
        "open to listed",
        [&] {
            session.restore(
                {.path = path, .tensor = {}, .page = page, .specA = {}, .specB = {}, .metric = {}, .comparing = false});
        },
        [&] { return session.model() && view->model()->rowCount() > 0; });
    step(
        "listed to swept", [] {},
        [&] { return session.modelRows(session.spec()).size() == qsizetype(session.weights().size()); });
    auto* filter = window.findChild<QLineEdit*>(QStringLiteral("filter"));
    auto* flat = window.findChild<QToolButton*>(QStringLiteral("asTable"));
    auto* tree = qobject_cast<TensorTree*>(view->model());
    const auto arranged = [&] { return !tree->arranging() && tree->isFlat() == flat->isChecked(); };
    const auto filtered = [&](const char* text) {
        return [&, text] {
            step(
                text, [&, text] { filter->setText(QString::fromLatin1(text)); },
                [&] { return arranged() && tree->filter() == QLatin1String(text); });
        };
    };
    const auto sorted = [&](const char* what, int column, Qt::SortOrder order) {
        step(
            what, [&] { view->sortByColumn(column, order); }, arranged);
    };
    filtered("layers\\.\\d*[05]\\.mlp|q_proj$")();
    filtered("mlp")();
    filtered("")();
    sorted("tree sorted by metric", TensorTree::MetricValue, Qt::DescendingOrder);
    step(
        "as a table", [&] { flat->click(); }, arranged);
    sorted("table sorted by metric", TensorTree::MetricValue, Qt::AscendingOrder);
    sorted("table sorted by bytes", TensorTree::Bytes, Qt::DescendingOrder);
    sorted("table sorted by name", TensorTree::Name, Qt::AscendingOrder);
    filtered("layers\\.\\d*[05]\\.mlp|q_proj$")();
    filtered("")();
    step(
        "end of the table", [&] { view->scrollToBottom(); }, quiet);
    step(
        "another metric", [&] { session.setMetric(QStringLiteral("sqnr_db")); }, quiet);
    step(
        "next tensor", [&] { session.selectNeighbour(1); }, [&] { return !session.busy(); });
    for (const auto& one : pages())
        step(
            one.id, [&] { session.showPage(QString::fromLatin1(one.id)); },
            [&] {
                const auto* report = window.findChild<ReportPage*>();
                return !session.busy() &&
                       window.currentPage()->objectName() == QStringLiteral("page-") + QLatin1String(one.id) &&
                       (qstrcmp(one.id, "report") != 0 || (report && report->report()));
            });
    session.showPage(QStringLiteral("labs"));
    QTest::qWait(100);
    for (auto* tab : window.findChildren<QToolButton*>(QRegularExpression(QStringLiteral("^lab-"))))
        step(
            qPrintable(tab->objectName()), [&] { tab->click(); }, [&] { return !session.busy(); });
    step(
        "another spec", [&] { session.setSpec(*parseSpec("nf4:block=32")); },
        [&] { return session.modelRows(session.spec()).size() > 0; });
    step(
        "close", [&] { session.close(); }, quiet);
    return 0;
}
