// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The frame around the pages. It finds pages through the registry only; pages talk to each other through the Session.

#include <QHash>
#include <QMainWindow>

class QSettings;
class QSplitter;
class QStackedWidget;

namespace qs::gui {

class Banner;
class EscapeKey;
class RefusalBanner;
class SourceBanner;
class JobLane;
class Peek;
class Rail;
class Session;
class SessionSaver;
class SpecHistory;
class TensorBrowser;
class TopBar;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    explicit MainWindow(Session& session, QWidget* parent = nullptr);

    Session& session() { return session_; }
    TensorBrowser& browser() { return *browser_; }
    SpecHistory& history() { return *history_; }
    SessionSaver& saver() { return *saver_; }
    QWidget* currentPage() const;
    QString message() const; ///< text of the banner
    bool browserWanted() const { return browserWanted_; }

    void setBrowserWanted(bool wanted);
    void step(int by); ///< selects the tensor `by` rows below (negative: above)
    void peek();
    /// Esc: closes what is open; with nothing open it stops the work, and asks first if that has run for long; without
    /// work it clears the filter.
    void cancel();
    void showKeys();
    void openMenu();
    void restoreFrom(const QSettings& settings);
    void saveTo(QSettings& settings) const;

protected:
    void keyPressEvent(QKeyEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;
    void dragEnterEvent(QDragEnterEvent*) override;
    void dropEvent(QDropEvent*) override;
    void closeEvent(QCloseEvent*) override;

private:
    void showPage(const QString& id);
    void followModel();
    Session& session_;
    SpecHistory* history_;
    SessionSaver* saver_;
    Rail* rail_ = nullptr;
    TopBar* top_;
    TensorBrowser* browser_;
    Banner* banner_;
    RefusalBanner* refusal_;
    SourceBanner* source_;
    QStackedWidget* stack_;
    QSplitter* splitter_;
    JobLane* lane_;
    Peek* peek_;
    EscapeKey* escape_;
    QHash<QString, QWidget*> made_; ///< a page is created when it is first shown
    bool browserWanted_ = true;
    bool quits_ = false; ///< the user wants it, whatever runs
};

} // namespace qs::gui
