// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The page Evidence in a session of its own, and what a user does there.

#include "app/gui/page.h"
#include "app/gui/pages/evidence/evidence_choice.h"
#include "app/gui/pages/evidence/evidence_page.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/tick_list.h"
#include "opened_session.h"

#include <QAbstractButton>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QSpinBox>

inline QString heldOutText() { return samplePath() + QStringLiteral("/heldout.txt"); }

/// A session with its page Evidence.
struct ShownEvidence {
    qs::gui::Session session;
    std::unique_ptr<QWidget> widget;
    ShownEvidence() {
        widget.reset(qs::gui::createEvidencePage(session, nullptr));
        widget->resize(1356, 802);
        widget->show();
    }
    qs::gui::EvidencePage* page() const { return static_cast<qs::gui::EvidencePage*>(widget.get()); }
    template<class T> T* the(const char* name) const { return widget->findChild<T*>(QLatin1String(name)); }
    void click(const char* name) const { QTest::mouseClick(the<QAbstractButton>(name), Qt::LeftButton); }
    bool quiet() const {
        return QTest::qWaitFor([&] { return !page()->running(); }, 150'000);
    }
    QString said(const char* name) const { return the<QLabel>(name)->text(); }
    bool open(const QString& path) {
        QSignalSpy judged(page(), &qs::gui::EvidencePage::settled); // what the model allows is known
        return openModel(session, path) && (judged.size() > 0 || judged.wait(60'000));
    }
    /// `specs` and nothing else.
    void take(const QString& text, bool ids, int context, int chunks, const QStringList& specs) const {
        auto* list = the<qs::gui::TickList>("evidenceSpecs");
        for (int i = 0; i < list->count(); ++i) list->item(i)->setCheckState(Qt::Unchecked);
        auto* typed = the<QLineEdit>("evidenceAdd");
        for (const QString& spec : specs) {
            QTest::keyClicks(typed, spec);
            QTest::keyClick(typed, Qt::Key_Return);
        }
        page()->choice()->setText(text, ids);
        the<QSpinBox>("evidenceContext")->setValue(context);
        the<QSpinBox>("evidenceChunks")->setValue(chunks);
    }
    QStringList notesOfCards() const {
        QStringList out;
        for (const auto* card : widget->findChildren<qs::gui::Card*>())
            if (card->isVisible()) out << card->note();
        return out;
    }
};
