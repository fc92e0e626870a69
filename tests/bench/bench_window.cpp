// SPDX-License-Identifier: GPL-3.0-or-later
// Measures the time from a step of the block slider to repainted charts, for a 4096 x 4096 F32 tensor, and the longest
// event handler meanwhile. Prints medians and 95th percentiles in ms. Not a test: run it alone.
#include "app/gui/page.h"
#include "app/gui/pages/tensor/tensor_page_cards.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/staged_refresh.h"
#include "core/quant/spec/formats.h"
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
    while (!done()) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents); // with a time limit it would spin
}

} // namespace

int main(int argc, char** argv) {
    TimedApplication app(argc, argv);
    Theme::install(Theme::Mode::Dark);
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("large.safetensors"));
    // Results per tensor are cached, which would make times too short. So each tensor is used once per block size.
    constexpr int side = 4096, tensors = 4;
    std::vector<ModelTensor> made;
    for (int i = 0; i < tensors; ++i)
        made.push_back({QStringLiteral("layers.%1.mlp.down_proj.weight").arg(i),
                        {side, side},
                        normalValues(std::size_t(side) * side, 0.02, unsigned(i) + 1)});
    if (!writeModelFile(path, made)) {
        std::fprintf(stderr, "the temporary file could not be written\n");
        return 1;
    }
    made.clear();
    Session session;
    QScopedPointer<QWidget> page(createTensorPage(session, nullptr));
    page->resize(1056, 802);
    page->show();
    const auto between = parseSpec("binary:scale=channel"); // another spec, so that no timed step is computed before
    session.setSpec(*between);
    session.open(path);
    wait([&] { return session.current() && !session.currentIsStale(); });
    auto* stages = page->findChild<StagedRefresh*>();

    /// Calls `change` and waits until the page is repainted.
    const auto show = [&](const std::function<void()>& change) {
        const AnalysisRow before = session.current();
        change();
        wait([&] { return session.current() && session.current() != before && !session.currentIsStale(); });
        wait([&] { return !stages->pending(); });
        QCoreApplication::sendPostedEvents(); // scenes and widgets post events to each other about what to repaint
    };

    std::vector<double> charts, whole;
    const std::pair<const char*, std::string> formats[] = {{"nf4", "nf4:block="}, {"int8", "int8:scale=block:block="}};
    for (const auto& [format, prefix] : formats) {
        charts.clear();
        whole.clear();
        app.forget();
        std::vector<double> gui;
        int asked = 0;
        for (int i = 0; i < tensors; ++i) {
            const TensorInfo* tensor = session.weights()[std::size_t(i)];
            if (session.spec() != *between) show([&] { session.setSpec(*between); });
            if (session.tensor() != tensor) show([&] { session.selectTensor(tensor); });
            for (int block = 16; block <= 2048; block *= 2) { // the range of the slider
                const auto spec = parseSpec(prefix + std::to_string(block));
                QElapsedTimer timer;
                timer.start();
                const double cpu = std::accumulate(app.cpuTurns.begin(), app.cpuTurns.end(), 0.0);
                show([&] { session.setSpec(*spec); });
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
