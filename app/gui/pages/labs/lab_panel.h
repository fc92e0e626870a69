// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the panels of the labs page share: work off the GUI thread that the job lane shows, the selected tensor as a
// value, and the inputs that stand for activations.

#include "app/gui/lane_work.h"
#include "app/gui/run_job.h"
#include "app/gui/session.h"
#include "app/gui/widgets/ranked_bars.h"
#include "core/value/deviation.h"
#include "core/value/inputs.h"

#include <QPointer>
#include <QWidget>

class QComboBox;
class QFormLayout;
class QTableView;

namespace qs::gui {

/// Each out of a file, or synthetic while there is none.
struct LabInputs {
    std::shared_ptr<const value::InputFile> activations, gradients, cache;
    static QString title(const std::shared_ptr<const value::InputFile>& file);      ///< "synthetic" or the file's name
    static QString titled(const std::string& name);                                 ///< the same by its name, or ""
    static std::string nameOf(const std::shared_ptr<const value::InputFile>& file); ///< "" of none
    QString title() const { return title(activations); }
    bool operator==(const LabInputs&) const = default; ///< the same files, as they were opened
    /// Activations [rows, columns] of the layer.
    Result<value::Tensor> make(const std::string& name, std::int64_t rows, std::int64_t columns) const {
        return value::inputsFor(activations.get(), name, rows, columns);
    }
};

class LabPanel : public QWidget {
    Q_OBJECT
public:
    LabPanel(Session& session, const LabInputs& inputs, QWidget* parent = nullptr);
    ~LabPanel() override;
    bool running() const { return lane_ != nullptr; }
    void touch(); ///< the tensor, the spec or the inputs are others: refresh() follows when the panel is seen

Q_SIGNALS:
    void settled(); ///< what was started is over

protected:
    static constexpr std::int64_t kAtOnce = std::int64_t(1) << 22; ///< elements that are worked on without being asked

    virtual void refresh() = 0;
    virtual void interrupted() {} ///< by Esc
    virtual void forget() {}      ///< what was computed: another model is open
    void showEvent(QShowEvent*) override;
    void resizeEvent(QResizeEvent*) override; ///< what the columns of tables may take is another width now
    void drop() { lane_.reset(); }
    /// What the session that was opened holds by this name is read on a worker: `take` gets it, then refresh() is called.
    /// True until then. Work that is started meanwhile stands before it.
    template<class T>
    bool takeRestored(const char* name, Result<T> (*read)(const std::string&, const Model&),
                      std::function<void(T)> take) {
        const auto text = session_.restored(QLatin1String(name));
        if (!text || text == read_.lock()) return reading_;
        read_ = text;
        reading_ = true;
        restoring_.cancel();
        restoring_ = Job();
        const auto work = [text, read, model = session_.model()](const Job&) { return read(*text, *model); };
        runJob<T>(this, restoring_, work, [this, take = std::move(take)](Result<T> result) {
            reading_ = false;
            if (result) take(std::move(*result));
            touch();
            if (!result) complain(result.error());
            Q_EMIT settled();
        });
        return true;
    }
    bool small() const; ///< the selected tensor is
    /// Of work that was dropped or replaced meanwhile nothing arrives.
    template<class T>
    void start(const QString& what, std::function<Result<T>(const Job&)> work, std::function<void(Result<T>)> done) {
        stopReading();
        lane_.reset();
        lane_ = std::make_unique<LaneWork>(session_, what.toStdString());
        runJob<T>(this, lane_->job(), std::move(work), [this, done = std::move(done)](Result<T> result) {
            const auto over = std::move(lane_);
            done(std::move(result));
            Q_EMIT settled();
        });
    }

    virtual void complain(const Error& error) = 0; ///< what the session holds cannot be used
    /// "NAME|SPEC" of what is selected; "": nothing is.
    QString subject() const;
    static QString subjectOf(const std::string& tensor, const QuantSpec& spec);

    Session& session_;
    const LabInputs& inputs_;

private:
    void stopReading();

    std::unique_ptr<LaneWork> lane_;
    Job restoring_;
    std::weak_ptr<const std::string> read_; ///< of the session, and not to be read again
    bool reading_ = false, touched_ = true;
};

/// The tensor's values; rows of the last axis where `flat`.
Result<value::Tensor> labTensor(const Model& model, const TensorInfo& tensor, bool flat);
QFormLayout* labForm(QWidget* parent); ///< a caption over each control
QComboBox* choiceBox();                ///< values to choose from, and a field for others
/// The sidebar: a card with the form and, below it, what may be hidden without leaving a gap.
QWidget* labSidebar(const QString& title, QWidget* form, std::initializer_list<QWidget*> below);
/// Some of a list's columns, in the list's order.
template<class Row> Columns<Row> without(Columns<Row> columns, std::initializer_list<const char*> ids) {
    for (const char* id : ids) std::erase_if(columns, [&](const auto& column) { return column.id == id; });
    return columns;
}
/// Its SQNR; hatched with the reason where there is none.
RankedBar sqnrBar(const std::string& name, const std::optional<value::Deviation>& error, const std::string& reason);
void fitColumns(QTableView& table);
QString sentence(const Error& error);

} // namespace qs::gui
