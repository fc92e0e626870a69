// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/refusal_banner.h"

#include "app/gui/session.h"
#include "core/base/text.h"
#include "core/layouts/offers.h"

namespace qs::gui {
namespace {

bool sameRefusal(const AnalysisRow& a, const AnalysisRow& b) {
    if (!a || !b) return a == b;
    return a->tensor == b->tensor && a->spec == b->spec && a->reason == b->reason;
}

bool isRefused(const AnalysisRow& row) { return row && row->status == Status::Refused; }

} // namespace

RefusalBanner::RefusalBanner(Session& session, QWidget* parent) : Banner(parent), session_(session) {
    setObjectName(QStringLiteral("refusal"));
    connect(&session, &Session::currentChanged, this, &RefusalBanner::follow);
    connect(&session, &Session::rowsChanged, this, &RefusalBanner::follow);
    connect(&session, &Session::specChanged, this, &RefusalBanner::follow);
    connect(&session, &Session::modelChanged, this, &RefusalBanner::follow);
}

void RefusalBanner::setWanted(bool wanted) {
    if (wanted == wanted_) return;
    wanted_ = wanted;
    refused_.reset();
    follow();
}

void RefusalBanner::follow() {
    if (session_.model() && session_.currentIsStale()) return; // wait for the result
    const AnalysisRow current = session_.current();
    const ModelRows& rows = session_.modelRows(session_.spec());
    const bool ofCurrent = isRefused(current);
    const AnalysisRow refused = !wanted_ || !session_.model() ? nullptr : ofCurrent ? current : rows.firstRefused();
    if (sameRefusal(refused, refused_)) return;
    refused_ = refused;
    task_.drop();
    say({});
    if (!refused) return;
    const QString why =
        tr("%1 as %2: %3")
            .arg(QString::fromStdString(escapeForPeople(refused->tensor, 160)),
                 QString::fromStdString(refused->specAsTyped), QString::fromStdString(oneSentence(refused->reason)));
    ask(ofCurrent ? why : tr("Some tensors are refused. The first is %1").arg(why));
}

void RefusalBanner::ask(const QString& sentence) {
    using Specs = std::vector<QuantSpec>;
    task_.run(
        {},
        [model = session_.model(), layout = session_.layout(), row = refused_](const Job&) -> Result<Specs> {
            const bool nonFinite = row->nan + row->inf > 0;
            if (auto all = specsForRefused(row->spec, layout->weights, nonFinite); !all.empty()) return all;
            const TensorInfo* one = model->find(row->tensor);
            return one ? specsForRefused(row->spec, std::span(&one, 1), nonFinite) : Specs();
        },
        [this, sentence](Result<Specs> specs) {
            std::vector<Action> actions;
            for (const QuantSpec& spec : specs ? *specs : Specs())
                actions.push_back({tr("Use %1").arg(QString::fromStdString(specText(spec))),
                                   QString::fromStdString(canonicalText(spec)),
                                   [this, spec] { session_.setSpec(spec); }});
            offer(sentence, actions);
        });
}

} // namespace qs::gui
