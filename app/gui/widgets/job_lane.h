// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The line at the bottom: what runs, its progress and the time left; at the right instruction set, threads, GB/s.

#include "core/base/job.h"

#include <QWidget>

class QLabel;
class QProgressBar;

namespace qs::gui {

class Session;

/// "17.8 GB/s", "48 MB/s".
QString rateText(double gigabytesPerSecond);

class JobLane : public QWidget {
    Q_OBJECT
public:
    explicit JobLane(Session& session, QWidget* parent = nullptr);
    QString text() const;

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void idle(const QString& sentence);
    void say(const QString& sentence);
    void showProgress(const Progress& progress, double secondsLeft);
    Session& session_;
    QLabel *what_, *count_, *left_, *hint_, *machine_, *rate_;
    QProgressBar* bar_;
    QString sentence_;
};

} // namespace qs::gui
