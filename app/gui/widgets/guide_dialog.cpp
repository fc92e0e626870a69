// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/guide_dialog.h"

#include "app/gui/resource_path.h"
#include "app/gui/theme.h"

#include <QDesktopServices>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QPushButton>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextTable>
#include <QTimer>
#include <QVBoxLayout>

#include <utility>

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

/// Qt puts paragraphs of Markdown close together.
void spaceBlocks(QTextDocument& document) {
    for (auto block = document.begin(); block.isValid(); block = block.next()) {
        QTextCursor cursor(block);
        auto format = block.blockFormat();
        const bool isHeading = format.headingLevel() > 0;
        if (cursor.currentTable() || format.hasProperty(QTextFormat::BlockCodeLanguage) ||
            format.hasProperty(QTextFormat::BlockCodeFence))
            continue;
        format.setTopMargin(isHeading ? 20 : 7);
        format.setBottomMargin(7);
        cursor.setBlockFormat(format);
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
    : QDialog(parent), folder_(resourcePath("docs", "docs")), text_(named(new QTextBrowser, "guideText")),
      back_(named(new QPushButton(tr("Back")), "guideBack")) {
    setObjectName(QStringLiteral("guide"));
    setWindowTitle(tr("Guide"));
    resize(860, 720);
    auto* column = spaced(new QVBoxLayout(this), Theme::kSpace, {12, 12, 12, 12});
    auto* bar = new QHBoxLayout;
    back_->setEnabled(false);
    back_->setAutoDefault(false);
    connect(back_, &QPushButton::clicked, this, &GuideDialog::goBack);
    bar->addWidget(back_);
    bar->addStretch();
    column->addLayout(bar);
    text_->setAccessibleName(tr("Text of the guide"));
    text_->setOpenLinks(false);
    connect(text_, &QTextBrowser::anchorClicked, this, &GuideDialog::follow);
    column->addWidget(text_, 1);
}

void GuideDialog::showPlace(const QString& place) {
    if (!place_.isEmpty() && place != place_) before_ << place_;
    open(place);
    show();
    raise();
}

void GuideDialog::open(const QString& place) {
    back_->setEnabled(!before_.isEmpty());
    place_ = place;
    const QString file = place.section(u'#', 0, 0);
    if (file != file_) read(file);
    scrollTo(place.section(u'#', 1));
}

/// The document is made whole before the browser sees it, so that it is laid out once.
void GuideDialog::read(const QString& file) {
    QFile source(QDir(folder_).filePath(file));
    if (folder_.isEmpty() || !source.open(QIODevice::ReadOnly)) {
        text_->setPlainText(tr("The documents are not installed beside the program."));
        return;
    }
    auto* document = new QTextDocument(this);
    document->setDefaultFont(text_->font());
    document->setDocumentMargin(20);
    document->setMetaInformation(QTextDocument::DocumentUrl, QUrl::fromLocalFile(source.fileName()).toString());
    document->setMarkdown(QString::fromUtf8(source.readAll()), QTextDocument::MarkdownDialectGitHub);
    dressTables(*document, text_->palette().color(QPalette::Mid));
    spaceBlocks(*document);
    fitPictures(*document);
    text_->setDocument(document);
    delete std::exchange(document_, document);
    file_ = file;
}

void GuideDialog::goBack() {
    if (before_.isEmpty()) return;
    const QString place = before_.takeLast();
    open(place);
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
    const QString file = link.path().isEmpty() ? file_ : QFileInfo(link.path()).fileName();
    if (file.endsWith(QLatin1String(".md")) && QDir(folder_).exists(file))
        showPlace(link.hasFragment() ? file + u'#' + link.fragment() : file);
}

} // namespace qs::gui
