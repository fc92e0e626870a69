// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The frame around the pages. It knows no page by name but the registry; pages talk through the Session.

#include <QHash>
#include <QMainWindow>

class QSettings;
class QSplitter;
class QStackedWidget;

namespace qs::gui {

class Banner;
class RefusalBanner;
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
    QString message() const; ///< of the banner
    bool browserWanted() const { return browserWanted_; }

    void setBrowserWanted(bool wanted);
    void step(int by); ///< tensor above or below
    void peek();
    void cancel(); ///< Esc: jobs first, then the filter
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
    QStackedWidget* stack_;
    QSplitter* splitter_;
    JobLane* lane_;
    Peek* peek_;
    QHash<QString, QWidget*> made_; ///< pages are made when they are first shown
    bool browserWanted_ = true;
};

} // namespace qs::gui
