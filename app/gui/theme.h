// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The colours, fonts and spacings of the window; no other file defines any. How they are given to widgets.

#include <QColor>
#include <QFont>
#include <QHash>
#include <QIcon>
#include <QMargins>
#include <QObject>
#include <QPalette>
#include <QString>

#include <initializer_list>

class QLayout;
class QWidget;

namespace qs::gui {

struct Tokens {
    QColor bg, surface, raised, line, text, muted, faint, accent, selection;
    QColor dataA, dataB, dataC, dataD; ///< weights; levels and spec B; error; third series
    QColor warn;
};

class Theme : public QObject {
    Q_OBJECT
public:
    enum class Mode { System, Dark, Light };
    static Theme& instance(); ///< created by install(); lives as long as the QApplication
    static void install(Mode mode);
    void setMode(Mode mode); ///< repaints everything; emits changed()
    Mode mode() const { return mode_; }
    bool isDark() const { return dark_; }
    const Tokens& tokens() const { return tokens_; }

    // Inter for words, JetBrains Mono for numbers (fallbacks: system font, DejaVu Sans Mono). Sizes are pixels.
    static QFont words(int px = 12, int weight = QFont::Normal);
    static QFont numbers(int px = 11);
    static QFont code(int px = 11);    ///< for specs and regular expressions: a font without ligatures
    static QColor viridis(double t);   ///< 0..1
    static QColor diverging(double t); ///< -1 blue, 0 neutral, 1 orange

    /// 0..3: dataA..dataD; other values: muted. The meaning of PlotSeries::token.
    QColor data(int token) const;
    /// A line icon of :/icons/ in one colour of the theme.
    static QIcon icon(const QString& name, const QColor& colour, int px = 20);
    static constexpr int kSpace = 8, kGap = 12, kMargin = 16, kControl = 26, kRadius = 6, kCardRadius = 8;
    static constexpr QMargins kPageMargins{kMargin, kGap, kMargin, kMargin}; ///< around the content of a page
    static constexpr QMargins kCardMargins{kMargin, kGap, kMargin, kGap};    ///< of a card, and of a popup

Q_SIGNALS:
    void changed();

private:
    Theme();
    void apply();
    Mode mode_ = Mode::System;
    bool dark_ = true, systemIsDark_ = false;
    Tokens tokens_;
    QHash<QString, QIcon> icons_; ///< one entry for each used pair of icon and colour
};

/// Sets the object name of a new widget, and its `role`, which chooses a look (theme_style.h).
template<class W> W* named(W* widget, const char* name, const char* role = nullptr) {
    widget->setObjectName(QLatin1String(name));
    if (role) widget->setProperty("role", QString::fromLatin1(role));
    return widget;
}
void dress(QWidget& widget, const QFont& font, const char* role = nullptr);
/// The same for a new widget.
template<class W> W* dressed(W* widget, const QFont& font, const char* role = nullptr) {
    dress(*widget, font, role);
    return widget;
}
/// The spaces between the items of a layout and around them, in pixels.
void setSpaces(QLayout& layout, int spacing, QMargins margins = {});
/// The same for a new layout.
template<class L> L* spaced(L* layout, int spacing, QMargins margins = {}) {
    setSpaces(*layout, spacing, margins);
    return layout;
}
/// Adds the widgets in this order.
template<class L> void addWidgets(L& layout, std::initializer_list<QWidget*> widgets) {
    for (QWidget* widget : widgets) layout.addWidget(widget);
}

} // namespace qs::gui
