// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/guide_dialog.h"

#include "app/gui/resource_path.h"
#include "app/gui/theme.h"

#include <QAbstractTextDocumentLayout>
#include <QDesktopServices>
#include <QDir>
#include <QFileInfo>
#include <QPushButton>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextTable>
#include <QTimer>
#include <QVBoxLayout>

namespace qs::gui {
namespace {

constexpr int kPictureWidth = 760;

/// The anchor that a heading has on the usual Markdown pages: lower case, spaces become hyphens, no punctuation.
QString anchorOf(const QString& heading) {
    QString out;
    for (const QChar c : heading.toLower()) {
        if (c.isLetterOrNumber() || c == u'-' || c == u'_') out += c;
        if (c == u' ') out += u'-';
    }
    return out;
}

/// Qt draws tables of Markdown without lines and padding.
void dressTables(QTextDocument& document, const QColor& line) {
    for (auto* frame : document.rootFrame()->childFrames()) {
        auto* table = qobject_cast<QTextTable*>(frame);
        if (!table) continue;
        auto format = table->format();
        format.setBorder(1);
        format.setBorderCollapse(true);
        format.setBorderBrush(line);
        format.setCellPadding(5);
        format.setTopMargin(6);
        format.setBottomMargin(10);
        table->setFormat(format);
    }
}

/// Pictures of whole windows are wider than this dialog.
void fitPictures(QTextDocument& document) {
    for (auto block = document.begin(); block.isValid(); block = block.next())
        for (auto at = block.begin(); !at.atEnd(); ++at) {
            auto format = at.fragment().charFormat().toImageFormat();
            if (!format.isValid()) continue;
            format.setWidth(kPictureWidth);
            QTextCursor cursor(&document);
            cursor.setPosition(at.fragment().position());
            cursor.setPosition(at.fragment().position() + at.fragment().length(), QTextCursor::KeepAnchor);
            cursor.setCharFormat(format);
            break; // the fragments of this block have moved
        }
}

} // namespace

GuideDialog::GuideDialog(QWidget* parent)
    : QDialog(parent), folder_(resourcePath("docs", "docs")), text_(named(new QTextBrowser, "guideText")) {
    setObjectName(QStringLiteral("guide"));
    setWindowTitle(tr("Guide"));
    resize(860, 720);
    auto* column = new QVBoxLayout(this);
    setSpaces(*column, Theme::kSpace, {12, 12, 12, 12});
    auto* bar = new QHBoxLayout;
    auto* back = named(new QPushButton(tr("Back")), "guideBack");
    back->setEnabled(false);
    back->setAutoDefault(false);
    connect(back, &QPushButton::clicked, text_, &QTextBrowser::backward);
    connect(text_, &QTextBrowser::backwardAvailable, back, &QPushButton::setEnabled);
    bar->addWidget(back);
    bar->addStretch();
    column->addLayout(bar);
    text_->setAccessibleName(tr("Text of the guide"));
    text_->setOpenLinks(false);
    text_->document()->setDocumentMargin(20);
    connect(text_, &QTextBrowser::anchorClicked, this, &GuideDialog::follow);
    connect(text_, &QTextBrowser::sourceChanged, this, [this] {
        dressTables(*text_->document(), text_->palette().color(QPalette::Mid));
        fitPictures(*text_->document());
    });
    column->addWidget(text_, 1);
}

void GuideDialog::showPlace(const QString& place) {
    open(place.section(u'#', 0, 0), place.section(u'#', 1));
    show();
    raise();
}

void GuideDialog::open(const QString& file, const QString& anchor) {
    const QString path = QDir(folder_).filePath(file);
    if (folder_.isEmpty() || !QFileInfo(path).isFile()) {
        text_->setPlainText(tr("The documents are not installed beside the program."));
        return;
    }
    if (text_->source() != QUrl::fromLocalFile(path))
        text_->setSource(QUrl::fromLocalFile(path), QTextDocument::MarkdownResource);
    scrollTo(anchor);
}

void GuideDialog::scrollTo(const QString& anchor) {
    heading_.clear();
    for (auto block = text_->document()->begin(); !anchor.isEmpty() && block.isValid(); block = block.next()) {
        if (block.blockFormat().headingLevel() == 0 || anchorOf(block.text()) != anchor) continue;
        heading_ = block.text();
        QTextCursor cursor(block);
        text_->setTextCursor(cursor);
        // The layout is complete once the window is shown.
        QTimer::singleShot(0, this, [this, cursor] {
            auto* bar = text_->verticalScrollBar();
            bar->setValue(bar->value() + text_->cursorRect(cursor).top() - 8);
        });
        return;
    }
    text_->verticalScrollBar()->setValue(0);
}

void GuideDialog::follow(const QUrl& link) {
    if (!link.isRelative() && !link.isLocalFile()) {
        QDesktopServices::openUrl(link);
        return;
    }
    const QString path = text_->source().resolved(link).toLocalFile();
    if (path.endsWith(QLatin1String(".md")) && QDir(folder_).exists(QFileInfo(path).fileName()))
        open(QFileInfo(path).fileName(), link.fragment());
    else if (link.path().isEmpty())
        scrollTo(link.fragment());
}

} // namespace qs::gui
