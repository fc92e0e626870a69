// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The plan page with a session and its history, for tests that use it by mouse and keyboard.

#include "app/gui/page.h"
#include "app/gui/pages/plan/plan_page.h"
#include "app/gui/spec_history.h"
#include "app/gui/theme.h"
#include "opened_session.h"
#include "tests/support/test_program.h"

#include <QAbstractButton>
#include <QTemporaryDir>

class OpenedPlanPage : public QObject {
protected:
    using Session = qs::gui::Session;
    using PlanPage = qs::gui::PlanPage;
    QTemporaryDir folder_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<qs::gui::SpecHistory> history_;
    std::unique_ptr<QWidget> page_;

    template<class T> T* the(const char* name) const { return page_->findChild<T*>(QLatin1String(name)); }
    PlanPage* plan() const { return static_cast<PlanPage*>(page_.get()); }
    const qs::gui::PlanAnswer& answer() const { return *plan()->answer(); }
    double bpw() const { return answer().plan.bpw(*answer().options); }
    void click(const char* name) { QTest::mouseClick(the<QAbstractButton>(name), Qt::LeftButton); }
    bool quiet() {
        QTest::qWait(10);
        return QTest::qWaitFor([&] { return !plan()->busy(); }, 150'000);
    }
    int unitOf(const char* part) const {
        const auto& units = answer().options->units;
        for (std::size_t u = 0; u < units.size(); ++u)
            if (units.name(u).find(part) != std::string::npos) return int(u);
        return -1;
    }
    std::string specOf(int unit) const {
        const auto& options = *answer().options;
        const auto* spec = options.specOf(options.of[std::size_t(unit)][answer().plan.picked[std::size_t(unit)]]);
        return spec ? qs::specText(*spec) : "keep";
    }
    void show() {
        qputenv("XDG_CACHE_HOME", folder_.path().toLocal8Bit());
        qs::gui::Theme::install(qs::gui::Theme::Mode::Dark);
        session_ = std::make_unique<Session>();
        history_ = std::make_unique<qs::gui::SpecHistory>(*session_);
        page_.reset(qs::gui::createPlanPage(*session_, nullptr));
        page_->resize(1356, 802); // the size left in a window of 1440x900
        page_->show();
        QVERIFY(QTest::qWaitForWindowExposed(page_.get(), qs::test::kWait));
        QTest::qWait(50);
    }

    void close() {
        page_.reset();
        history_.reset();
        session_.reset();
    }
};
