// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/screenshot.h"

#include "app/gui/session.h"

#include <QApplication>
#include <QPixmap>
#include <QThreadPool>
#include <QTimer>
#include <QWidget>

#include <cstdio>

namespace qs::gui {

void shootWhenSettled(Session& session, QWidget& window, const QString& path) {
    auto* timer = new QTimer(&window);
    QObject::connect(timer, &QTimer::timeout, &window, [&session, &window, path, quiet = 0, waited = 0]() mutable {
        const bool busy = session.busy() || QThreadPool::globalInstance()->activeThreadCount() > 0;
        quiet = busy ? 0 : quiet + 1;
        if (quiet < 10 && ++waited < 1200) return;
        const bool written = window.grab().save(path, "PNG");
        if (!written) std::fprintf(stderr, "quantscope: cannot write '%s'\n", qPrintable(path));
        QCoreApplication::exit(written ? 0 : 1);
    });
    timer->start(50);
}

} // namespace qs::gui
