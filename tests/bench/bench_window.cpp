// SPDX-License-Identifier: GPL-3.0-or-later
// From a step of the block slider to repainted charts, on a 4096 x 4096 F32 tensor; and the longest turn of the GUI
// thread meanwhile. Prints medians and 95th percentiles in milliseconds. Not a test: run it alone.
#include "app/gui/page.h"
#include "app/gui/pages/tensor_page_cards.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/staged_refresh.h"
#include "core/quant/formats.h"
#include "tests/app/gui/model_file.h"
#include "tests/bench/timed_application.h"

#include <QEventLoop>
#include <QTemporaryDir>
#include <QTimer>

#include <cstdio>
#include <functional>
#include <numeric>

using namespace qs;
using namespace qs::gui;

namespace {

void wait(const std::function<bool()>& done) {
    while (!done()) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 1000);
}

} // namespace

int main(int argc, char** argv) {
    TimedApplication app(argc, argv);
    Theme::install(Theme::Mode::Dark);
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("large.safetensors"));
    constexpr int side = 4096;
    if (!writeModelFile(path, {{QStringLiteral("layers.0.mlp.down_proj.weight"),
                                {side, side},
                                normalValues(std::size_t(side) * side, 0.02, 1)}})) {
        std::fprintf(stderr, "the temporary file could not be written\n");
        return 1;
    }
    Session session;
    QScopedPointer<QWidget> page(createTensorPage(session, nullptr));
    page->resize(1056, 802);
    page->show();
    session.open(path);
    wait([&] { return session.current() && !session.currentIsStale(); });
    auto* stages = page->findChild<StagedRefresh*>();

    std::vector<double> charts, whole;
    const char* formats[] = {"nf4", "int8"};
    for (const char* format : formats) {
        charts.clear();
        whole.clear();
        app.forget();
        std::vector<double> gui;
        int asked = 0;
        for (int round = 0; round < 4; ++round) {
            for (int block = 16; block <= 2048; block *= 2) {
                // Remembered answers would flatter: a slightly other clip makes each question new, at the blocks that
                // the slider has.
                const auto spec = parseSpec(std::string(format) +
                                            (std::string_view(format) == "int8" ? ":scale=block:block=" : ":block=") +
                                            std::to_string(block) + ":calib=absmax,0.99" + std::to_string(9 - round));
                if (!spec) continue;
                QElapsedTimer timer;
                timer.start();
                const double cpu = std::accumulate(app.cpuTurns.begin(), app.cpuTurns.end(), 0.0);
                const AnalysisRow before = session.current();
                session.setSpec(*spec);
                wait([&] { return session.current() && session.current() != before && !session.currentIsStale(); });
                wait([&] { return !stages->pending(); });
                QCoreApplication::sendPostedEvents(nullptr, QEvent::UpdateRequest);
                whole.push_back(double(timer.nsecsElapsed()) / 1e6);
                charts.push_back(1e3 * session.current()->seconds);
                gui.push_back(std::accumulate(app.cpuTurns.begin(), app.cpuTurns.end(), 0.0) - cpu);
                ++asked;
            }
        }
        std::printf(
            "%s, %d steps on %d x %d F32, %s: step to repainted page %.1f ms median, %.1f ms p95 (the pass over the "
            "tensor %.1f ms, the page's own CPU time %.1f ms); turns of the GUI thread: longest %.1f ms, p99 %.1f "
            "ms; of CPU time: longest %.1f ms, p99 %.1f ms\n",
            format, asked, side, side, isaName().c_str(), percentile(whole, 50), percentile(whole, 95),
            percentile(charts, 50), percentile(gui, 50), percentile(app.turns, 100), percentile(app.turns, 99),
            percentile(app.cpuTurns, 100), percentile(app.cpuTurns, 99));
    }
    return 0;
}
