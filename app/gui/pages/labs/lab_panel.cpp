// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/labs/lab_panel.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "core/base/text.h"

#include <QComboBox>
#include <QEvent>
#include <QFormLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QScrollArea>
#include <QTableView>
#include <QTimer>

#include <algorithm>
#include <limits>

namespace qs::gui {

QString LabInputs::title(const std::shared_ptr<const value::InputFile>& file) { return titled(nameOf(file)); }

QString LabInputs::titled(const std::string& name) {
    return name.empty() ? LabPanel::tr("synthetic") : QString::fromStdString(escapeForPeople(name, 40));
}

std::string LabInputs::nameOf(const std::shared_ptr<const value::InputFile>& file) {
    return file ? file->title() : std::string();
}

LabPanel::LabPanel(Session& session, const LabInputs& inputs, QWidget* parent)
    : QWidget(parent), session_(session), inputs_(inputs), task_(&session.tasks()) {
    connect(&task_, &Task::cancelled, this, [this] { interrupted(); });
    connect(&task_, &Task::failed, this, [this](const QString& why) { failed(why); });
    connect(&task_, &Task::over, this, &LabPanel::settled);
    connect(&session, &Session::tensorChanged, this, &LabPanel::touch);
    connect(&session, &Session::modelChanged, this, [this] {
        restoring_.drop();
        read_.reset();
        drop();
        forget();
        for (Card* card : cards_) card->setNote({}); // it says what the figures are of
        touch();
    });
    connect(&session, &Session::specChanged, this, &LabPanel::touch);
}

void LabPanel::interrupted() { sayInCards(tr("Cancelled: press Enter in a field to run again.")); }

void LabPanel::failed(const QString& why) { sayInCards(tr("Not measured: %1").arg(why)); }

void LabPanel::complain(const QString& why) {
    if (!running()) sayInCards(why);
}

void LabPanel::sayInCards(const QString& message) {
    for (Card* card : cards_) {
        card->setLoading(false);
        card->setMessage(message);
    }
}

void LabPanel::askToRun() {
    for (Card* card : cards_) {
        card->setLoading(false);
        card->setEmpty(tr("This tensor is large: press Run."));
    }
}

QString LabPanel::subjectOf(const std::string& tensor, const QuantSpec& spec) {
    return QString::fromStdString(tensor + '|' + canonicalText(spec));
}

QString LabPanel::subject() const {
    const TensorInfo* tensor = session_.tensor();
    return tensor ? subjectOf(tensor->name, session_.spec()) : QString();
}

void LabPanel::touch() {
    touched_ = true;
    if (isVisible()) {
        touched_ = false;
        refresh();
    }
}

void LabPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (std::exchange(touched_, false)) refresh();
}

void LabPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    for (auto* table : findChildren<QTableView*>())
        if (table->model()->rowCount()) fitColumns(*table);
}

bool LabPanel::small() const {
    const TensorInfo* tensor = session_.tensor();
    return tensor && std::int64_t(tensor->elements) <= kAtOnce;
}

Result<value::Tensor> labTensor(const Model& model, const TensorInfo& tensor, bool flat) {
    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    auto values = value::loadTensor(*view);
    if (values && flat) {
        const std::int64_t last = tensor.lastAxis();
        values->shape = {last ? std::int64_t(tensor.elements) / last : 0, last};
    }
    return values;
}

void addField(QFormLayout& form, const QString& caption, QWidget* control, const char* name) {
    control->setObjectName(QLatin1String(name));
    control->setAccessibleName(caption);
    control->setFont(Theme::numbers());
    form.addRow(captionLabel(caption), control);
}

QFormLayout* labForm(QWidget* parent) {
    auto* form = new QFormLayout(parent);
    form->setContentsMargins({});
    form->setRowWrapPolicy(QFormLayout::WrapAllRows);
    form->setHorizontalSpacing(Theme::kSpace);
    form->setVerticalSpacing(4);
    return form;
}

QComboBox* choiceBox() {
    auto* box = new QComboBox;
    box->setEditable(true);
    box->setInsertPolicy(QComboBox::NoInsert);
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setFont(Theme::code());
    box->lineEdit()->setFont(Theme::code());
    return box;
}

namespace {

constexpr int kSidebar = 276; // pixels

/// As high as the form if there is room. In a low window the form scrolls, and the widgets below it stay visible.
class FormArea : public QScrollArea {
public:
    explicit FormArea(QWidget* form) {
        setWidget(form);
        setWidgetResizable(true);
        setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
        form->setAutoFillBackground(false);
        viewport()->setAutoFillBackground(false);
    }
    QSize sizeHint() const override {
        constexpr int kWidth = kSidebar - 2 * Theme::kMargin;
        // The hint of a form whose labels wrap is for labels in narrow columns: it is too high.
        const int height = widget()->heightForWidth(kWidth);
        return {kWidth, height > 0 ? height : widget()->sizeHint().height()};
    }
    QSize minimumSizeHint() const override { return {100, 60}; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (watched == widget() && event->type() == QEvent::LayoutRequest) updateGeometry();
        return QScrollArea::eventFilter(watched, event);
    }
};

} // namespace

QWidget* labSidebar(const QString& title, QWidget* form, std::initializer_list<QWidget*> below) {
    auto* body = new QWidget;
    auto* inner = spaced(new QVBoxLayout(body), Theme::kSpace);
    inner->addWidget(new FormArea(form));
    for (QWidget* widget : below) inner->addWidget(widget);
    inner->addStretch();
    auto* card = new Card(title);
    card->setFixedWidth(kSidebar);
    card->setBody(body);
    return card;
}

RankedBar sqnrBar(const std::string& name, const std::optional<value::Deviation>& error, const std::string& reason) {
    RankedBar bar{QString::fromStdString(name), std::numeric_limits<double>::quiet_NaN(), LabPanel::tr("not measured"),
                  QString::fromStdString(reason)};
    if (error && error->exact()) bar.text = bar.reason = LabPanel::tr("exact");
    if (!error) return bar;
    if (const auto value = error->sqnrDb()) {
        bar.value = *value;
        bar.text = QString::fromStdString(fixedText(*value, 2)) + LabPanel::tr(" dB");
    }
    return bar;
}

void fitColumns(QTableView& table) {
    // In a later turn of the event loop, because measuring every cell takes time.
    QTimer::singleShot(0, &table, [&table] {
        const auto* model = table.model();
        const int last = model->columnCount() - 1;
        bool words = false; // the column of remarks has any text
        for (int row = 0; row < model->rowCount() && !words; ++row)
            words = !model->index(row, last).data().toString().isEmpty();
        table.setColumnHidden(last, !words);
        table.horizontalHeader()->setStretchLastSection(false);
        table.resizeColumnsToContents();
        int used = 0, shown = 0;
        for (int column = 0; column < last; ++column)
            if (!table.isColumnHidden(column)) used += table.columnWidth(column), ++shown;
        const int room = table.viewport()->width() - used - (words ? table.columnWidth(last) : 0);
        const int air = std::clamp(room / std::max(1, shown), 0, words ? 12 : 48);
        for (int column = 0; column < last; ++column)
            if (!table.isColumnHidden(column)) table.setColumnWidth(column, table.columnWidth(column) + air);
        if (!words) return;
        // The rest of the width; long text is wrapped.
        const int least = std::max(100, table.horizontalHeader()->sectionSizeHint(last));
        table.setColumnWidth(last, std::max(least, table.viewport()->width() - used - air * shown));
        table.setWordWrap(true);
        const int line = table.verticalHeader()->defaultSectionSize();
        for (int row = 0; row < model->rowCount(); ++row) {
            table.resizeRowToContents(row);
            table.setRowHeight(row, std::max(line, table.rowHeight(row)));
        }
    });
}

} // namespace qs::gui
