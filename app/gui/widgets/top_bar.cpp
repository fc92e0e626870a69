// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/top_bar.h"

#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/elided_label.h"
#include "app/gui/widgets/key_figures.h"
#include "app/gui/widgets/spec_bar.h"
#include "core/base/text.h"
#include "core/model/derived_tensor.h"
#include "core/model/file_format.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

namespace qs::gui {
namespace {

/// A type of elements, and the bytes that are stored in it.
using TypeBytes = std::pair<QString, std::uint64_t>;

/// The types of a model, the one with the most bytes first.
std::vector<TypeBytes> typesOf(const Model& model) {
    std::map<std::string, std::uint64_t> bytes;
    for (const auto& tensor : model.tensors) bytes[tensor.typeId()] += storedBytes(tensor);
    std::vector<TypeBytes> out;
    for (const auto& [type, size] : bytes) out.emplace_back(QString::fromStdString(type), size);
    std::ranges::stable_sort(out, std::greater{}, &TypeBytes::second);
    return out;
}

/// "Q4_1 +2": the type with the most bytes, and how many others there are.
QString mainType(const std::vector<TypeBytes>& types) {
    if (types.empty()) return {};
    return types.front().first + (types.size() > 1 ? QStringLiteral(" +%1").arg(types.size() - 1) : QString());
}

/// Path, kind of file and its metadata.
QString aboutFiles(const Model& model) {
    constexpr int most = 24;
    QStringList lines{QString::fromStdString(escapeForPeople(model.path)),
                      QStringLiteral("%1, %2 %3")
                          .arg(QString::fromStdString(titleOfFormat(model)))
                          .arg(model.files.size())
                          .arg(model.files.size() == 1 ? QStringLiteral("file") : QStringLiteral("files"))};
    const auto metadata = metadataOf(model);
    for (const auto& [key, value] : metadata) {
        if (lines.size() == most) {
            lines << QStringLiteral("… %1 keys in all").arg(metadata.size());
            break;
        }
        lines << QStringLiteral("%1: %2").arg(QString::fromStdString(escapeForPeople(key, 60)),
                                              QString::fromStdString(escapeForPeople(value, 80)));
    }
    return lines.join(u'\n');
}

} // namespace

TopBar::TopBar(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), title_(new QLabel), facts_(named(new QLabel, "modelFacts")),
      recipe_(named(new ElidedLabel(Qt::ElideRight), "recipeInForce", "warn")), recipeLine_(recipeLine()),
      spec_(new SpecBar(session)), figures_(new KeyFigures(session)) {
    setFixedHeight(64);
    title_->setFont(Theme::words(14, QFont::DemiBold));
    dress(*facts_, Theme::numbers(), "muted");
    for (auto* label : {title_, facts_}) {
        label->setFixedWidth(212);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    recipeLine_->setFixedWidth(212);
    auto* names = spaced(new QVBoxLayout, 2);
    names->addStretch();
    addWidgets(*names, {title_, facts_, recipeLine_});
    names->addStretch();
    auto* row = spaced(new QHBoxLayout(this), Theme::kMargin, {Theme::kMargin, 0, Theme::kMargin, 0});
    row->addLayout(names);
    row->addWidget(spec_, 1, Qt::AlignVCenter);
    row->addStretch();
    row->addWidget(figures_, 0, Qt::AlignVCenter);
    connect(&session, &Session::modelChanged, this, &TopBar::refresh);
    for (auto signal : {&Session::modelChanged, &Session::rulesChanged, &Session::recipeChanged, &Session::specChanged})
        connect(&session, signal, this, &TopBar::showRecipe);
    refresh();
    showRecipe();
}

QWidget* TopBar::recipeLine() {
    auto* line = new QWidget;
    auto* row = spaced(new QHBoxLayout(line), 4);
    recipe_->setFont(Theme::numbers(11));
    recipe_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    auto* clear = named(new QToolButton, "recipeClear", "corner");
    clear->setText(QStringLiteral("Clear"));
    clear->setAccessibleName(QStringLiteral("Clear recipe"));
    clear->setToolTip(QStringLiteral("Spec A for every tensor, in the place of the rules; Undo takes it back"));
    clear->setFixedHeight(18);
    connect(clear, &QToolButton::clicked, this, [this] { session_.clearRecipe(); });
    row->addWidget(recipe_, 1);
    row->addWidget(clear);
    return line;
}

/// Shown while rules decide: the spec at the right of it is then not what every tensor gets.
void TopBar::showRecipe() {
    const bool shows = session_.model() && session_.hasRecipe();
    recipeLine_->setVisible(shows);
    if (!shows) return;
    const auto& recipe = *session_.recipe();
    recipe_->setText(recipe.isMixed() ? recipe.title(session_.spec()) : QStringLiteral("rules that change nothing"));
    recipe_->setToolTip(recipe_->text());
}

void TopBar::setSpecVisible(bool visible) {
    specVisible_ = visible;
    spec_->setVisible(visible && session_.model());
    figures_->setVisible(visible && session_.model());
}

void TopBar::refresh() {
    const auto& model = session_.model();
    titleText_ = model ? QString::fromStdString(escapeForPeople(model->title)) : QStringLiteral("QuantScope");
    factsText_ = QStringLiteral("no model open");
    QString everyType;
    QStringList briefer; // where the full text does not fit; size and dtype stay
    if (model) {
        const auto count = QLocale::c().toString(qlonglong(model->tensors.size()));
        const auto types = typesOf(*model);
        const auto rest =
            QStringLiteral(" · %1 · %2").arg(QString::fromStdString(bytesText(model->totalBytes())), mainType(types));
        for (const auto& [type, bytes] : types)
            everyType += QStringLiteral("\n%1: %2").arg(type, QString::fromStdString(bytesText(bytes)));
        factsText_ = count + QStringLiteral(" tensors") + rest;
        briefer = {factsText_, count + rest, rest.mid(3)};
    }
    title_->setToolTip(model ? aboutFiles(*model) : QString());
    facts_->setToolTip(factsText_ + everyType);
    title_->setText(title_->fontMetrics().elidedText(titleText_, Qt::ElideMiddle, title_->width()));
    const auto fits = [this](const QString& text) {
        return facts_->fontMetrics().horizontalAdvance(text) <= facts_->width();
    };
    const auto shown = std::ranges::find_if(briefer, fits);
    facts_->setText(facts_->fontMetrics().elidedText(shown != briefer.end() ? *shown : factsText_, Qt::ElideMiddle,
                                                     facts_->width()));
    setSpecVisible(specVisible_);
}

void TopBar::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const int names = width() < 1240 ? 150 : 212;
    if (title_->width() == names) return;
    for (auto* widget : std::initializer_list<QWidget*>{title_, facts_, recipeLine_}) widget->setFixedWidth(names);
    refresh();
}

void TopBar::paintEvent(QPaintEvent*) {
    const auto& tokens = Theme::instance().tokens();
    QPainter painter(this);
    painter.fillRect(rect(), tokens.surface);
    painter.fillRect(0, height() - 1, width(), 1, tokens.line);
}

} // namespace qs::gui
