// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/screenshot.h"

#include "app/gui/session.h"

#include <QAbstractButton>
#include <QApplication>
#include <QFile>
#include <QPixmap>
#include <QThreadPool>
#include <QTimer>
#include <QWidget>

#include <cstdio>
#include <ctime>
#include <unistd.h>

namespace qs::gui {
namespace {

// Milliseconds since the process was created, loading of libraries included; resolution 10 ms (the kernel's clock
// tick).
double sinceStartMs() {
    QFile file(QStringLiteral("/proc/self/stat"));
    if (!file.open(QIODevice::ReadOnly)) return -1;
    const auto text = file.readAll();
    const auto fields = text.mid(text.lastIndexOf(')') + 2).split(' '); // the process name may contain spaces
    if (fields.size() < 20) return -1;
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6 -
           fields[19].toDouble() * 1e3 / double(::sysconf(_SC_CLK_TCK));
}

} // namespace

void shootWhenSettled(Session& session, QWidget& window, const QString& path, const QStringList& presses) {
    auto* timer = new QTimer(&window);
    const auto look = [&session, &window, path, presses = QStringList(presses), quiet = 0, waited = 0]() mutable {
        const bool busy = session.busy() || QThreadPool::globalInstance()->activeThreadCount() > 0;
        quiet = busy ? 0 : quiet + 1;
        if (quiet < 10 && ++waited < 1200) return;
        if (!presses.isEmpty()) {
            quiet = waited = 0;
            if (auto* button = window.findChild<QAbstractButton*>(presses.takeFirst())) button->click();
            return;
        }
        // layouts of texts that have just changed
        QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
        const bool written = window.grab().save(path, "PNG");
        if (!written) std::fprintf(stderr, "quantscope: cannot write '%s'\n", qPrintable(path));
        QCoreApplication::exit(written ? 0 : 1);
    };
    QObject::connect(timer, &QTimer::timeout, &window, look);
    timer->start(50);
}

void timeStart(Session& session, QWidget& window) {
    auto* timer = new QTimer(&window);
    QObject::connect(timer, &QTimer::timeout, &window, [&session, &window, opened = -1.0]() mutable {
        if (!session.model()) return;
        if (opened < 0) {
            window.repaint();
            opened = sinceStartMs();
        }
        if (session.busy() || session.modelRows(session.spec()).size() < qsizetype(session.weights().size())) return;
        window.repaint();
        std::printf("on screen with the model open after %.0f ms, with all of it measured after %.0f ms\n", opened,
                    sinceStartMs());
        QCoreApplication::quit();
    });
    timer->start(1);
}

} // namespace qs::gui
