// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of pages: the rail, the View menu, the shortcuts and the tests loop over pages().

#include "app/gui/widgets/sketch.h"

#include <QString>
#include <QWidget>

#include <span>

namespace qs::gui {

class Session;

/// What a page is for: the rail shows pages of one group together.
enum class PageGroup { Open, Look, Decide, Check, Deliver };
const char* groupTitle(PageGroup group); ///< one word; "" of Open

struct PageTraits {
    const char* id;          ///< "overview"
    const char* title;       ///< "Overview"
    const char* icon;        ///< resource name under :/icons/, single colour, tinted by the rail
    const char* tip;         ///< one sentence
    const char* guide;       ///< what explains it: a page of docs/, and a heading of it behind "#"
    Sketch::Kind sketch;     ///< what is typical for the page, for the start page
    PageGroup group;         ///< pages of one group stand together
    bool usesSpecBar = true; ///< the top bar's spec editor is shown
    bool usesBrowser = true; ///< the tensor browser is shown
    QWidget* (*create)(Session& session, QWidget* parent);
};
/// In rail order.
std::span<const PageTraits> pages();
/// The rows that other places lead to.
extern const PageTraits kStartPage, kOverviewPage, kTensorPage, kCodebookPage, kComparePage, kEvidencePage,
    kBackendsPage, kReportPage, kExportPage, kPlanPage;

// One factory per file in pages/.
QWidget* createStartPage(Session& session, QWidget* parent);
QWidget* createOverviewPage(Session& session, QWidget* parent);
QWidget* createTensorPage(Session& session, QWidget* parent);
QWidget* createCodebookPage(Session& session, QWidget* parent);
QWidget* createComparePage(Session& session, QWidget* parent);
QWidget* createBackendsPage(Session& session, QWidget* parent);
QWidget* createSweepPage(Session& session, QWidget* parent);
QWidget* createAuditPage(Session& session, QWidget* parent);
QWidget* createEvidencePage(Session& session, QWidget* parent);
QWidget* createPlanPage(Session& session, QWidget* parent);
QWidget* createLabsPage(Session& session, QWidget* parent);
QWidget* createReportPage(Session& session, QWidget* parent);
QWidget* createExportPage(Session& session, QWidget* parent);

} // namespace qs::gui
