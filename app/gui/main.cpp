// SPDX-License-Identifier: GPL-3.0-or-later
// quantscope [FILE]: reads the command line and the settings, and opens the window.
#include "app/gui/main_window.h"
#include "app/gui/page.h"
#include "app/gui/screenshot.h"
#include "app/gui/session.h"
#include "app/gui/session_saver.h"
#include "app/gui/session_state.h"
#include "app/gui/theme.h"
#include "core/base/text.h"
#include "core/model/companion.h"
#include "core/process/begin_program.h"
#include "core/quant/codebook/user_formats.h"
#include "core/quant/spec/forced_isa.h"
#include "core/quant/spec/trained.h"
#include "core/report/libraries.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QFileInfo>
#include <QRegularExpression>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QThreadPool>

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace {

using namespace qs;
using namespace qs::gui;

void say(const QString& sentence) {
    std::fprintf(stderr, "%s\n", oneSentence("quantscope: " + sentence.toStdString()).c_str());
}

int wrongUsage(const QString& sentence) {
    say(sentence);
    return 2;
}

// Without a display Qt aborts. Print one sentence and exit normally instead.
void onMessage(QtMsgType type, const QMessageLogContext&, const QString& text) {
    if (type == QtFatalMsg && text.contains(QLatin1String("platform plugin"))) {
        std::fputs("quantscope: there is no display to open a window on: set DISPLAY or WAYLAND_DISPLAY, or use "
                   "quantscope-cli analyze FILE\n",
                   stderr);
        std::fflush(stderr);
        ::_exit(1);
    }
    if (type == QtDebugMsg || type == QtInfoMsg) return;
    // This message comes just before the fatal one.
    if (text.contains(QLatin1String("could not connect to display")) ||
        text.contains(QLatin1String("Could not load the Qt platform plugin")))
        return;
    say(text);
    if (type == QtFatalMsg) std::abort();
}

/// Does not read settings that are not a small regular file: QSettings would wait on a pipe forever, and read a device
/// to its end.
void leaveHostileSettings() {
    const QString file = QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation) + u'/' +
                         QCoreApplication::organizationName() + u'/' + QCoreApplication::applicationName() +
                         QStringLiteral(".conf");
    const QFileInfo info(file);
    if (!info.exists() && !info.isSymLink()) return;
    const auto text = readCompanion(file.toStdString(), std::size_t(16) << 20);
    if (text) return;
    qWarning("the settings are left alone: %s", text.error().sentence().c_str());
    static const QTemporaryDir instead;
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, instead.path());
}

} // namespace

int main(int argc, char** argv) {
    beginProgram();
    qInstallMessageHandler(onMessage);
    QCoreApplication::setOrganizationName(QStringLiteral("QuantScope"));
    QCoreApplication::setApplicationName(QStringLiteral("QuantScope"));
    QCoreApplication::setApplicationVersion(QStringLiteral(QS_VERSION));

    QCommandLineParser parser;
    parser.setApplicationDescription(QStringLiteral("Shows what weight quantization does to a checkpoint."));
    parser.addPositionalArgument(QStringLiteral("FILE"), QStringLiteral("file, sharded index or folder to open"),
                                 QStringLiteral("[FILE]"));
    const auto option = [](const char* name, const char* text, const char* value) {
        return QCommandLineOption(QString::fromLatin1(name), QString::fromLatin1(text), QString::fromLatin1(value));
    };
    const QCommandLineOption help({QStringLiteral("h"), QStringLiteral("help")}, QStringLiteral("print this text"));
    const QCommandLineOption version({QStringLiteral("v"), QStringLiteral("version")},
                                     QStringLiteral("print the version"));
    const auto page = option("page", "page to show first", "ID");
    const auto tensor = option("tensor", "tensor to select", "NAME");
    const auto spec = option("spec", "spec A, for example nf4:block=64", "SPEC");
    const auto specB = option("spec-b", "spec B; shows it beside A", "SPEC");
    const auto theme = option("theme", "dark, light or system", "THEME");
    const auto size = option("size", "size of the window", "WxH");
    const auto shot = option("screenshot", "for developers: write a picture when all work is done, and quit", "PNG");
    const auto press = option(
        "press", "for developers: click the button of this name before the picture is made; several in turn", "NAME");
    parser.addOptions({help, version, page, tensor, spec, specB, theme, size, shot, press});
    QStringList arguments;
    for (int i = 0; i < argc; ++i) arguments << QString::fromLocal8Bit(argv[i]);
    // QApplication removes Qt's own options from the list, but needs a display; --help and --version work without one.
    const bool understood = parser.parse(arguments);
    if (understood && parser.isSet(version)) {
        std::puts(versionText("quantscope").c_str());
        return 0;
    }
    if (understood && parser.isSet(help)) {
        const QCoreApplication forHelp(argc, argv);
        std::fputs(qPrintable(parser.helpText()), stdout);
        return 0;
    }

    const auto sizeOf = [&] {
        static const QRegularExpression shape(QStringLiteral("^(\\d{3,5})x(\\d{3,5})$"));
        return shape.match(parser.value(size));
    };
    const QStringList themes{QStringLiteral("system"), QStringLiteral("dark"), QStringLiteral("light")};
    const auto wrong = [&](bool parsed) -> QString {
        if (!parsed) {
            auto sentence = parser.errorText();
            while (sentence.endsWith(u'.')) sentence.chop(1);
            return sentence + QStringLiteral("; see quantscope --help");
        }
        if (parser.positionalArguments().size() > 1) return QStringLiteral("one FILE can be opened, not several");
        if (parser.isSet(theme) && !themes.contains(parser.value(theme)))
            return QStringLiteral("--theme is dark, light or system, not '%1'").arg(parser.value(theme));
        for (const auto& option : {spec, specB}) {
            if (!parser.isSet(option)) continue;
            if (const auto made = parseSpec(parser.value(option).toStdString()); !made)
                return QString::fromStdString(made.error().sentence());
        }
        QStringList ids;
        for (const auto& row : pages()) ids << QString::fromLatin1(row.id);
        if (parser.isSet(page) && !ids.contains(parser.value(page)))
            return QStringLiteral("there is no page '%1': pages are %2")
                .arg(parser.value(page), ids.join(QStringLiteral(", ")));
        if (parser.isSet(size) && !sizeOf().hasMatch())
            return QStringLiteral("--size is WIDTHxHEIGHT, for example 1440x900, not '%1'").arg(parser.value(size));
        if (const char* problem = forcedIsaProblem()) return QString::fromUtf8(problem);
        return {};
    };
    // A wrong option is reported without a display too, unless the arguments contain options of Qt.
    static const QRegularExpression ofQt(QStringLiteral("^(-[a-z]{2,}|--(platform|style|display|geometry|qw|plugin|"
                                                        "session|name|title|icon|reverse|visual|fontengine).*)$"));
    if (arguments.mid(1).filter(ofQt).isEmpty())
        if (const auto sentence = wrong(understood); !sentence.isEmpty()) return wrongUsage(sentence);

    QApplication application(argc, argv);
    QApplication::setWindowIcon(QIcon(QStringLiteral(":/icons/quantscope.svg")));
    QGuiApplication::setDesktopFileName(QStringLiteral("quantscope"));
    if (const auto sentence = wrong(parser.parse(application.arguments())); !sentence.isEmpty())
        return wrongUsage(sentence);

    leaveHostileSettings();
    const QSettings settings;
    auto mode = Theme::Mode(settings.value(QStringLiteral("theme"), 0).toInt());
    if (parser.isSet(theme))
        mode = parser.value(theme) == QLatin1String("dark")    ? Theme::Mode::Dark
               : parser.value(theme) == QLatin1String("light") ? Theme::Mode::Light
                                                               : Theme::Mode::System;
    const auto sizeMatch = sizeOf();

    Theme::install(mode);
    const auto refusedFormats = loadUserFormats();
    for (const auto& sentence : refusedFormats) qWarning("not taken as a format: %s", sentence.c_str());
    for (const auto& sentence : loadTrained(userFormatsFolder()))
        qWarning("not taken as a trained spec: %s", sentence.c_str());
    Session session;
    const bool timed = qEnvironmentVariableIntValue("QS_TIMING") == 1;
    const bool forDevelopers = parser.isSet(shot) || timed;
    if (!forDevelopers) keepSaved(session);
    MainWindow window(session);
    if (!forDevelopers) {
        window.restoreFrom(settings);
        const int often = qEnvironmentVariableIntValue("QS_AUTOSAVE_MS"); // set by tests
        if (often > 0)
            window.saver().startAutosave(often);
        else
            window.saver().startAutosave();
    }
    if (sizeMatch.hasMatch()) window.resize(sizeMatch.captured(1).toInt(), sizeMatch.captured(2).toInt());
    window.show();
    if (!parser.positionalArguments().isEmpty()) {
        session.restore({.path = QFileInfo(parser.positionalArguments().front()).absoluteFilePath(),
                         .tensor = parser.value(tensor),
                         .page = parser.value(page),
                         .specA = parser.value(spec),
                         .specB = parser.value(specB),
                         .metric = {},
                         .comparing = parser.isSet(specB)});
    } else if (parser.isSet(page)) {
        session.showPage(parser.value(page));
    }
    if (timed) timeStart(session, window);
    if (parser.isSet(shot)) shootWhenSettled(session, window, parser.value(shot), parser.values(press));
    const int code = application.exec();
    session.cancelJobs();
    QThreadPool::globalInstance()->waitForDone();
    return code;
}
