// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The backends page with the sample model and a small, quick plan.

#include "app/gui/pages/backends/backends_page.h"

#include "app/gui/pages/backends/backends_plan.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "opened_session.h"

#include <QCoreApplication>
#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSettings>
#include <QTest>

#include <memory>

struct OpenedBackendsPage {
    std::unique_ptr<qs::gui::Session> session_;

    bool open(const char* organization) {
        qs::gui::Theme::install(qs::gui::Theme::Mode::Dark);
        QCoreApplication::setOrganizationName(QLatin1String(organization)); // each test has its own settings
        QSettings().clear();                                                // removes plugins of an earlier run
        session_ = std::make_unique<qs::gui::Session>();
        return openModel(*session_, samplePath());
    }
    template<class T> static T* find(QWidget& page, const char* name) {
        return page.findChild<T*>(QLatin1String(name));
    }
    std::unique_ptr<qs::gui::BackendsPage> make(QSize size = {1356, 802}) {
        auto page = std::make_unique<qs::gui::BackendsPage>(*session_);
        page->setAutoFillBackground(true);
        page->resize(size);
        page->makeAllParts();
        page->planner().assumeCache(std::uint64_t(16) << 20); // most of the time goes into making cold copies
        page->show();
        if (!QTest::qWaitFor([&] { return find<QPushButton>(*page, "runBench")->isEnabled(); }, 20'000))
            qWarning("the plan cannot be run");
        return page;
    }
    /// A small plan: cpu and openblas, nf4 and f32, two values of M, 0.05 s per row.
    static void plan(qs::gui::BackendsPage& page, const QString& ms = QStringLiteral("1 4")) {
        auto* backends = find<QListWidget>(page, "planBackends");
        for (int i = 0; i < backends->count(); ++i) {
            const auto text = backends->item(i)->text();
            const bool on = text == QLatin1String("cpu") || text == QLatin1String("openblas");
            backends->item(i)->setCheckState(on && !text.contains(QLatin1String("not built")) ? Qt::Checked
                                                                                              : Qt::Unchecked);
        }
        auto* shapes = find<QListWidget>(page, "planShapes");
        for (int i = 0; i < shapes->count(); ++i) shapes->item(i)->setCheckState(i == 0 ? Qt::Checked : Qt::Unchecked);
        auto* specs = find<QListWidget>(page, "planSpecs");
        for (int i = 0; i < specs->count(); ++i) {
            const auto text = specs->item(i)->text();
            const bool on = text == QLatin1String("nf4:block=64") || text == QLatin1String("f32");
            specs->item(i)->setCheckState(on ? Qt::Checked : Qt::Unchecked);
        }
        find<QLineEdit>(page, "planM")->setText(ms);
        find<QDoubleSpinBox>(page, "planSeconds")->setValue(0.05);
    }
};
