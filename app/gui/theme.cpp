// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/theme.h"

#include "app/gui/theme_style.h"

#include <QApplication>
#include <QFontDatabase>
#include <QLabel>
#include <QLayout>
#include <QPainter>
#include <QPointer>
#include <QSvgRenderer>
#include <QToolTip>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

namespace qs::gui {
namespace {

const Tokens kDark = {
    .bg = 0xff14171C,
    .surface = 0xff1A1E25,
    .raised = 0xff232933,
    .line = 0xff2C333F,
    .text = 0xffE7EBF1,
    .muted = 0xff9AA5B5,
    .faint = 0xff8792A4,
    .accent = 0xff5AA9FF,
    .selection = 0xff27405F,
    .dataA = 0xff5AA9FF,
    .dataB = 0xffF0A35E,
    .dataC = 0xff58C9A5,
    .dataD = 0xffD08BD8,
    .warn = 0xffF0C75E,
};
const Tokens kLight = {
    .bg = 0xffF4F6F9,
    .surface = 0xffFFFFFF,
    .raised = 0xffEDF0F5,
    .line = 0xffDBE0E8,
    .text = 0xff18202B,
    .muted = 0xff566173,
    .faint = 0xff66717F,
    .accent = 0xff1560CC,
    .selection = 0xffDCE9FC,
    .dataA = 0xff1560CC,
    .dataB = 0xffB05414,
    .dataC = 0xff0B7A5C,
    .dataD = 0xff9747A8,
    .warn = 0xff8A5F00,
};

QPalette paletteOf(const Tokens& t) {
    QPalette p;
    p.setColor(QPalette::Window, t.bg);
    p.setColor(QPalette::WindowText, t.text);
    p.setColor(QPalette::Base, t.surface);
    p.setColor(QPalette::AlternateBase, t.raised);
    p.setColor(QPalette::Text, t.text);
    p.setColor(QPalette::Button, t.raised);
    p.setColor(QPalette::ButtonText, t.text);
    p.setColor(QPalette::BrightText, t.warn);
    p.setColor(QPalette::ToolTipBase, t.raised);
    p.setColor(QPalette::ToolTipText, t.text);
    p.setColor(QPalette::PlaceholderText, t.faint);
    p.setColor(QPalette::Highlight, t.selection);
    p.setColor(QPalette::HighlightedText, t.text);
    p.setColor(QPalette::Link, t.accent);
    p.setColor(QPalette::LinkVisited, t.muted); // used by labels: see ThemeStyle
    p.setColor(QPalette::Light, t.raised);
    p.setColor(QPalette::Midlight, t.line);
    p.setColor(QPalette::Mid, t.line);
    p.setColor(QPalette::Dark, t.line);
    p.setColor(QPalette::Shadow, t.dataB); // used by labels
    for (auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::HighlightedText})
        p.setColor(QPalette::Disabled, role, t.faint);
    return p;
}

QColor mix(const QColor& a, const QColor& b, double t) {
    const auto channel = [t](int from, int to) { return int(std::lround(from + (to - from) * t)); };
    return QColor(channel(a.red(), b.red()), channel(a.green(), b.green()), channel(a.blue(), b.blue()));
}

template<std::size_t N> QColor interpolate(const std::array<QRgb, N>& stops, double t) {
    if (!std::isfinite(t)) t = 0;
    const double at = std::clamp(t, 0.0, 1.0) * double(N - 1);
    const auto i = std::min(std::size_t(at), N - 2);
    return mix(QColor(stops[i]), QColor(stops[i + 1]), at - double(i));
}

/// A table asks for a font for every cell. Copies of one QFont share the result of the font lookup.
QFont& withFamilies(const QStringList& families, int px, int weight) {
    static std::map<std::tuple<QString, int, int>, QFont> made;
    auto& font = made[{families.constFirst(), px, weight}];
    if (font.pixelSize() == px) return font;
    font.setFamilies(families);
    font.setPixelSize(px);
    font.setWeight(QFont::Weight(weight));
    return font;
}

/// Makes every widget request a repaint, for example at a change of palette. Without these requests Qt paints an opaque
/// window once for itself and a second time for the widgets on it.
void askForAll() {
    for (auto* window : QApplication::topLevelWidgets()) {
        if (!window->isVisible()) continue;
        const auto labels = window->findChildren<QLabel*>();
        for (auto* label : labels) label->update();
    }
}

QPointer<Theme> theInstance;

} // namespace

Theme::Theme() : QObject(QCoreApplication::instance()), tokens_(kDark) {
    systemIsDark_ = QGuiApplication::palette().color(QPalette::Window).lightness() < 128;
}

Theme& Theme::instance() {
    if (!theInstance) theInstance = new Theme;
    return *theInstance;
}

void Theme::install(Mode mode) {
    auto& theme = instance();
    theme.mode_ = mode;
    theme.apply();
}

void Theme::setMode(Mode mode) {
    mode_ = mode;
    askForAll();
    apply();
    Q_EMIT changed();
}

void Theme::apply() {
    dark_ = mode_ == Mode::Dark || (mode_ == Mode::System && systemIsDark_);
    tokens_ = dark_ ? kDark : kLight;
    const auto palette = paletteOf(tokens_);
    auto* style = dynamic_cast<ThemeStyle*>(QApplication::style());
    if (!style) {
        QApplication::setStyle(style = new ThemeStyle);
        QApplication::setFont(words());
        QToolTip::setFont(words(11));
    }
    QApplication::setPalette(palette);
    QToolTip::setPalette(palette);
    style->recolour();
}

QFont Theme::words(int px, int weight) {
    static const QStringList families = [] {
        const auto system = QFontDatabase::systemFont(QFontDatabase::GeneralFont).family();
        return QStringList{QStringLiteral("Inter"), system, QStringLiteral("DejaVu Sans")};
    }();
    return withFamilies(families, px, weight);
}

QFont Theme::numbers(int px) {
    static const QStringList families = {QStringLiteral("JetBrains Mono"), QStringLiteral("DejaVu Sans Mono"),
                                         QFontDatabase::systemFont(QFontDatabase::FixedFont).family()};
    auto& font = withFamilies(families, px, QFont::Normal);
    if (font.styleHint() != QFont::Monospace) font.setStyleHint(QFont::Monospace);
    return font;
}

// JetBrains Mono draws ".=" and "!=" as ligatures; Qt can switch that off only since version 6.7.
QFont Theme::code(int px) {
    static const QStringList families = {QStringLiteral("JetBrains Mono NL"), QStringLiteral("DejaVu Sans Mono"),
                                         QFontDatabase::systemFont(QFontDatabase::FixedFont).family()};
    auto& font = withFamilies(families, px, QFont::Normal);
    if (font.styleHint() != QFont::Monospace) font.setStyleHint(QFont::Monospace);
    return font;
}

// matplotlib's viridis at 17 even steps. Linear interpolation between them is within 1 of 255 in each channel.
QColor Theme::viridis(double t) {
    static constexpr std::array<QRgb, 17> stops = {
        0xff440154, 0xff48186a, 0xff472d7b, 0xff424086, 0xff3b528b, 0xff33638d, 0xff2c728e, 0xff26828e, 0xff21918c,
        0xff1fa088, 0xff28ae80, 0xff3fbc73, 0xff5ec962, 0xff84d44b, 0xffaddc30, 0xffd8e219, 0xfffde725};
    return interpolate(stops, t);
}

QColor Theme::diverging(double t) {
    static constexpr std::array<QRgb, 7> stops = {0xff1f5fb4, 0xff5f9bd8, 0xffb3d0ea, 0xfff5f5f3,
                                                  0xfff5cfa0, 0xffe39a4b, 0xffb05a10};
    return interpolate(stops, (t + 1) / 2);
}

QColor Theme::data(int token) const {
    switch (token) {
    case 0: return tokens_.dataA;
    case 1: return tokens_.dataB;
    case 2: return tokens_.dataC;
    case 3: return tokens_.dataD;
    default: return tokens_.muted;
    }
}

QIcon Theme::icon(const QString& name, const QColor& colour, int px) {
    // Each icon is drawn once: the rail requests all its icons at every change of page.
    QIcon& icon = instance().icons_[QStringLiteral("%1 %2 %3").arg(name).arg(colour.rgba()).arg(px)];
    if (!icon.isNull()) return icon;
    QSvgRenderer svg(QStringLiteral(":/icons/%1.svg").arg(name));
    for (const int scale : {1, 2, 3}) {
        QPixmap pixmap(px * scale, px * scale);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        svg.render(&painter);
        painter.setCompositionMode(QPainter::CompositionMode_SourceIn);
        painter.fillRect(pixmap.rect(), colour);
        painter.end();
        pixmap.setDevicePixelRatio(scale);
        icon.addPixmap(pixmap);
    }
    return icon;
}

void dress(QWidget& widget, const QFont& font, const char* role) {
    widget.setFont(font);
    if (role) widget.setProperty("role", QString::fromLatin1(role));
}

void setSpaces(QLayout& layout, int spacing, QMargins margins) {
    layout.setContentsMargins(margins);
    layout.setSpacing(spacing);
}

} // namespace qs::gui
