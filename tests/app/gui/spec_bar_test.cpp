// SPDX-License-Identifier: GPL-3.0-or-later
// The spec bar: its choices against the registries, and the effect of edits on the session.
#include "app/gui/spec_edit.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/spec_bar.h"
#include "app/gui/widgets/spec_more.h"
#include "core/quant/spec/calibration.h"
#include "core/quant/spec/dialect.h"
#include "tests/app/gui/artefacts.h"
#include "tests/app/gui/opened_session.h"
#include "tests/support/test_program.h"

#include <QAbstractButton>
#include <QComboBox>
#include <QFrame>
#include <QLineEdit>
#include <QPushButton>
#include <QSlider>
#include <QSpinBox>
#include <QToolButton>

using namespace qs;
using namespace qs::gui;

class TestSpecBar : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { Theme::install(Theme::Mode::Dark); }

    // For every format and every scale it lists, the edit must give a valid spec with that meaning.
    void everyChoiceOfTheRegistryWorks() {
        int seen = 0;
        for (const auto& from : presets())
            for (const auto& format : formats()) {
                const auto spec = withFormat(from, format);
                QVERIFY2(validate(spec).has_value(), specText(spec).c_str());
                QCOMPARE(std::string_view(spec.traits().id), std::string_view(format.id));
                for (const auto& choice : scaleChoices(format)) {
                    const auto scaled = withScale(spec, choice.kind);
                    QVERIFY2(validate(scaled).has_value(), specText(scaled).c_str());
                    QCOMPARE(scaled.scaleKind(), choice.kind);
                    ++seen;
                }
                for (const auto block : blockStops(format)) {
                    const auto blocked = withBlock(spec, block);
                    QVERIFY2(validate(blocked).has_value(), specText(blocked).c_str());
                    QCOMPARE(blocked.blockSize(), block);
                }
            }
        QVERIFY(seen > 60);
    }

    void blocksAreRoundedToWhatTheFormatTakes() {
        const auto* nf4 = findFormat("nf4");
        QCOMPARE(withBlock(withFormat({}, *nf4), 97).blockSize(), 98u);
        QCOMPARE(withBlock(withFormat({}, *nf4), 1).blockSize(), 2u);
        QCOMPARE(withBlock(withFormat({}, *nf4), 1u << 20).blockSize(), 65536u);
    }

    // Every dialect of a format can be chosen from any spec of it, and the result has that dialect.
    void everyDialectCanBeChosen() {
        for (const char* text : {"int8", "int8:block=64", "int8:sym=no:nan=skip", "nf4:block=16", "mxfp4:block=64"}) {
            const auto spec = *parseSpec(text);
            for (const auto dialect : dialectIds(spec.traits())) {
                const auto chosen = withDialect(spec, std::string(dialect));
                QVERIFY2(validate(chosen).has_value(), specText(chosen).c_str());
                QCOMPARE(chosen.effectiveDialect(), std::string(dialect));
            }
        }
    }

    // Keys with only one possible value are not written.
    void fixedBlocksAreNotSpelled() {
        QCOMPARE(specText(withFormat({}, *findFormat("q4_k"))), std::string("q4_k"));
        QCOMPARE(specText(withFormat(withFormat({}, *findFormat("q4_k")), *findFormat("nf4"))),
                 std::string("nf4:block=32"));
    }

    void nineDifferentPresets() {
        const auto known = presets();
        QCOMPARE(known.size(), std::size_t(9));
        for (std::size_t i = 0; i < known.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) QVERIFY(canonicalText(known[i]) != canonicalText(known[j]));
    }

    /// Keys 3 and 4 select formats that only make sense with a scale, so the presets have one.
    void presetsAreTheScaledMembers() {
        for (const auto& spec : presets()) {
            const bool canHave =
                scaleChoices(spec.traits()).size() > 1 || spec.traits().defaultScale != ScaleKind::None;
            QVERIFY2(!canHave || spec.scaleKind() != ScaleKind::None, specText(spec).c_str());
        }
        QCOMPARE(specText(presets()[2]), std::string("binary:scale=channel"));
        QCOMPARE(specText(presets()[3]), std::string("ternary:scale=channel"));
    }

    /// Sessions keep the spelling of the user. The long canonical text of older versions becomes short.
    void savedSpecsAreShort() {
        for (const char* text : {"nf4:block=64", "nf4", "int8:axis=0", "int4:block=32:calib=mse", "f32", "q4_k",
                                 "ternary:scale=channel", "int4:tile=0x64,1x64"}) {
            const auto typed = savedSpec(text);
            QVERIFY(typed);
            QCOMPARE(specText(*typed), std::string(text));
            const auto full = canonicalText(*typed);
            const auto from = savedSpec(full);
            QVERIFY2(from, full.c_str());
            QCOMPARE(canonicalText(*from), full);
            QVERIFY2(specText(*from).size() <= std::string(text).size() || full == text, specText(*from).c_str());
        }
        for (const auto& format : formats()) {
            const auto plain = withFormat({}, format);
            const auto from = savedSpec(canonicalText(plain));
            QVERIFY(from && canonicalText(*from) == canonicalText(plain));
            QVERIFY2(specText(*from).size() <= specText(plain).size(), specText(*from).c_str());
        }
        QVERIFY(!savedSpec("nonsense"));
    }

    void controlsDriveTheSession() {
        Session session;
        SpecBar bar(session);
        bar.resize(900, 60);
        bar.show();
        QSignalSpy changed(&session, &Session::specChanged);
        auto* slider = bar.findChild<QSlider*>(QStringLiteral("block"));
        slider->setFocus();
        QTest::keyClick(slider, Qt::Key_Right);
        QCOMPARE(session.spec().blockSize(), 128u);
        QCOMPARE(changed.size(), 1);
        auto* value = bar.findChild<QSpinBox*>(QStringLiteral("blockValue"));
        QCOMPARE(value->value(), 128);
        value->setFocus();
        value->selectAll();
        QTest::keyClicks(value, QStringLiteral("97"));
        QTest::keyClick(value, Qt::Key_Return);
        QCOMPARE(session.spec().blockSize(), 98u); // nf4 needs even blocks
        QCOMPARE(value->value(), 98);
        QTest::keyClick(value, Qt::Key_Up);
        QCOMPARE(session.spec().blockSize(), 256u); // the next power of two above 98

        auto* format = bar.findChild<QComboBox*>(QStringLiteral("format"));
        QCOMPARE(format->count(), int(formats().size()));
        format->setFocus();
        QTest::keyClick(format, Qt::Key_Down);
        QCOMPARE(session.spec().format, std::string("int8"));
        QVERIFY(!slider->isEnabled());
        QVERIFY(!slider->toolTip().isEmpty());
        QVERIFY(!bar.findChild<QComboBox*>(QStringLiteral("decode"))->isVisible()); // this format has no polynomial
                                                                                    // decode
        auto* scale = bar.findChild<QComboBox*>(QStringLiteral("scale"));
        scale->setCurrentText(QStringLiteral("block"));
        QCOMPARE(session.spec().scaleKind(), ScaleKind::Block);
        QVERIFY(slider->isEnabled());
    }

    // All formats are visible at once, and each can be reached by keyboard.
    void formatsByKind() {
        Session session;
        SpecBar bar(session);
        bar.resize(900, 60);
        bar.show();
        auto* format = bar.findChild<QComboBox*>(QStringLiteral("format"));
        const auto open = [&] {
            QTest::keyClick(format, Qt::Key_Space);
            return bar.findChild<QFrame*>(QStringLiteral("formats"));
        };
        auto* panel = open();
        QVERIFY(panel && panel->isVisible());
        keepPicture(*panel, QStringLiteral("spec-formats"));
        QVERIFY2(panel->height() < 400 && panel->width() < 1000,
                 qPrintable(QStringLiteral("%1 x %2").arg(panel->width()).arg(panel->height())));
        QStringList shown;
        for (const auto* button : panel->findChildren<QAbstractButton*>()) {
            QVERIFY(!button->accessibleName().isEmpty() && !button->accessibleDescription().isEmpty());
            QVERIFY(panel->rect().contains(QRect(button->mapTo(panel, QPoint()), button->size())));
            shown << button->text();
        }
        QCOMPARE(shown.size(), qsizetype(formats().size()));
        for (const auto& row : formats()) QVERIFY2(shown.contains(QLatin1String(row.id)), row.id);
        // From nf4 to the column of integers, then one down.
        auto* first = qobject_cast<QAbstractButton*>(panel->focusWidget());
        QVERIFY(first);
        QCOMPARE(first->text(), QStringLiteral("nf4"));
        QTest::keyClick(first, Qt::Key_Right);
        auto* second = qobject_cast<QAbstractButton*>(panel->focusWidget());
        QVERIFY(second && second->x() > first->x());
        QTest::keyClick(second, Qt::Key_Return);
        QCOMPARE(session.spec().format, second->text().toStdString());
        QTRY_VERIFY(!bar.findChild<QFrame*>(QStringLiteral("formats")));
        panel = open();
        QVERIFY(panel);
        QTest::keyClick(panel, Qt::Key_Escape);
        QTRY_VERIFY(!bar.findChild<QFrame*>(QStringLiteral("formats")));
    }

    void whatCannotBeMovedIsShown() {
        Session session;
        SpecBar bar(session);
        bar.show();
        auto* value = bar.findChild<QSpinBox*>(QStringLiteral("blockValue"));
        auto* calibration = bar.findChild<QComboBox*>(QStringLiteral("calibration"));
        session.setSpec(*parseSpec("q4_k"));
        QVERIFY(!bar.findChild<QSlider*>(QStringLiteral("block"))->isEnabled());
        QCOMPARE(value->text(), QStringLiteral("32"));
        QCOMPARE(calibration->currentText(), QStringLiteral("none"));
        session.setSpec(*parseSpec("int4:tile=0x64,1x64"));
        QVERIFY(!value->isEnabled());
        QCOMPARE(value->text(), QStringLiteral("–"));
        QCOMPARE(bar.findChild<QComboBox*>(QStringLiteral("scale"))->currentText(), QStringLiteral("tile"));
        QCOMPARE(session.spec(), *parseSpec("int4:tile=0x64,1x64"));
    }

    void everyPresetIsShownByTheControls() {
        Session session;
        SpecBar bar(session);
        for (const auto& spec : presets()) {
            session.setSpec(spec);
            QCOMPARE(bar.findChild<QComboBox*>(QStringLiteral("format"))->currentText().toStdString(), spec.format);
            const auto* scale = bar.findChild<QComboBox*>(QStringLiteral("scale"));
            QCOMPARE(ScaleKind(scale->currentData().toInt()), spec.scaleKind());
            QCOMPARE(session.spec(), spec); // showing it changed nothing
        }
    }

    void secondSpecIsEditedApart() {
        Session session;
        SpecBar bar(session);
        bar.show();
        const auto a = session.spec();
        QTest::mouseClick(bar.findChild<QToolButton*>(QStringLiteral("comparing")), Qt::LeftButton);
        QVERIFY(session.comparing());
        QTest::mouseClick(bar.findChild<QToolButton*>(QStringLiteral("editB")), Qt::LeftButton);
        QVERIFY(bar.editsB());
        bar.findChild<QComboBox*>(QStringLiteral("format"))->setCurrentText(QStringLiteral("ternary"));
        QCOMPARE(session.specB().format, std::string("ternary"));
        QCOMPARE(session.spec(), a);
        session.setComparing(false);
        QVERIFY(!bar.editsB());
    }

    void zeroPointsAndScaleTypes() {
        QuantSpec applied;
        SpecMore more([&](const QuantSpec& spec) { applied = spec; });
        more.follow(*parseSpec("int4"));
        more.adjustSize();
        keepPicture(more, QStringLiteral("spec-more-int4"));
        const auto named = [&](const char* name) -> QComboBox* {
            for (auto* box : more.findChildren<QComboBox*>())
                if (box->accessibleName() == QLatin1String(name)) return box;
            return nullptr;
        };
        named("Zero point")->setCurrentIndex(1);
        QCOMPARE(specText(applied), std::string("int4:sym=no"));
        more.follow(applied);
        named("Scale type")->setCurrentText(QStringLiteral("f16"));
        QCOMPARE(specText(applied), std::string("int4:scaletype=f16:sym=no"));
        // Keys that another format does not have are removed.
        QCOMPARE(specText(withFormat(applied, *findFormat("nf4"))), std::string("nf4:block=64"));
    }

    // Typed keys are parsed by the grammar; errors appear in place.
    void keysOfTheRegistry() {
        QuantSpec applied;
        int times = 0;
        SpecMore more([&](const QuantSpec& spec) { applied = spec, ++times; });
        const auto field = [&](const char* name) -> QWidget* {
            for (auto* control : more.findChildren<QWidget*>())
                if (control->accessibleName() == QLatin1String(name)) return control;
            return nullptr;
        };
        const auto type = [&](const char* name, const char* text) {
            auto* edit = qobject_cast<QLineEdit*>(field(name));
            QVERIFY(edit);
            edit->setText(QLatin1String(text));
            QTest::keyClick(edit, Qt::Key_Return);
            if (!edit->property("invalid").toBool()) more.follow(applied);
        };
        const auto pick = [&](const char* name, const char* text) {
            auto* box = qobject_cast<QComboBox*>(field(name));
            QVERIFY(box);
            box->setCurrentText(QLatin1String(text));
            more.follow(applied);
        };
        more.follow(*parseSpec("int4"));
        QVERIFY(field("Bits")->isHidden());
        type("Sparsity", "2/4");
        QCOMPARE(specText(applied), std::string("int4:sparse=2/4"));
        type("Tiles", "0x64, 1x32");
        QCOMPARE(specText(applied), std::string("int4:tile=0x64,1x32:sparse=2/4"));
        pick("Rounding", "stochastic");
        QCOMPARE(specText(applied), std::string("int4:tile=0x64,1x32:round=stochastic,0:sparse=2/4"));
        type("Seed", "7");
        QCOMPARE(*applied.randomSeed(), std::uint64_t(7));
        more.adjustSize();
        keepPicture(more, QStringLiteral("spec-more-all"));
        const int before = times;
        type("Sparsity", "5/3");
        QCOMPARE(times, before);
        QVERIFY(field("Sparsity")->property("invalid").toBool());
        type("Sparsity", "");
        type("Tiles", "");
        QCOMPARE(specText(applied), std::string("int4:round=stochastic,7"));

        more.follow(*parseSpec("int8:calib=percentile,99.9"));
        QVERIFY(field("Clip factor")->isHidden());
        type("Numbers", "99");
        QCOMPARE(specText(applied), std::string("int8:calib=percentile,99"));
        more.follow(*parseSpec("int8"));
        type("Axes", "out");
        QCOMPARE(specText(applied), std::string("int8:axis=out"));
        QCOMPARE(qobject_cast<QLineEdit*>(field("Axes"))->text(), QStringLiteral("out"));
        type("Axes", "0");
        QCOMPARE(specText(applied), std::string("int8:axis=0"));
        QVERIFY(field("Blocks over")->isHidden());
        more.follow(*parseSpec("nf4:dialect=bnb"));
        QVERIFY(field("Blocks over")->isHidden());
        more.follow(*parseSpec("nf4"));
        pick("Blocks over", "all axes but the first");
        QCOMPARE(specText(applied), std::string("nf4:flat=yes"));
        pick("Blocks over", "the last axis");
        QCOMPARE(specText(applied), std::string("nf4"));
        more.follow(*parseSpec("int8"));
        pick("Dialect", "mlx");
        QCOMPARE(specText(applied), std::string("int8:dialect=mlx"));
        for (const char* key : {"Zero point", "Clip factor", "Rounding", "Tiles", "Sparsity", "Axes"})
            QVERIFY2(field(key)->isHidden(), key);
        pick("Scale type", "bf16");
        QCOMPARE(specText(applied), std::string("int8:scaletype=bf16:dialect=mlx"));
        more.follow(*parseSpec("codebook"));
        pick("Bits", "3");
        QCOMPARE(specText(applied), std::string("codebook:bits=3"));
        // Showing any spec changes nothing.
        const int after = times;
        for (const auto& format : formats()) more.follow(withFormat({}, format));
        QCOMPARE(times, after);
    }

    void specAsTextSaysWhatIsWrong() {
        QuantSpec applied;
        int times = 0;
        SpecMore more([&](const QuantSpec& spec) { applied = spec, ++times; });
        more.follow({});
        auto* text = more.findChild<QLineEdit*>(QStringLiteral("specText"));
        text->setText(QStringLiteral("nf4:block=63"));
        QTest::keyClick(text, Qt::Key_Return);
        QCOMPARE(times, 0);
        QVERIFY(text->property("invalid").toBool());
        // The button is for the first spec that the error names in its field.
        auto* instead = more.findChild<QPushButton*>(QStringLiteral("instead"));
        QVERIFY(!instead->isHidden());
        QCOMPARE(instead->text(), QStringLiteral("Use nf4:block=62"));
        instead->click();
        QCOMPARE(times, 1);
        QCOMPARE(specText(applied), std::string("nf4:block=62"));
        QVERIFY(instead->isHidden() && !text->property("invalid").toBool());
        times = 0;
        text->setText(QStringLiteral("int8:axis=0"));
        QTest::keyClick(text, Qt::Key_Return);
        QCOMPARE(times, 1);
        QCOMPARE(canonicalText(applied), canonicalText(*parseSpec("int8:axis=0")));
    }

    void everyControlHasAName() {
        Session session;
        SpecBar bar(session);
        for (const auto* control : bar.findChildren<QWidget*>()) {
            const bool isControl =
                qobject_cast<const QComboBox*>(control) || qobject_cast<const QAbstractSlider*>(control) ||
                qobject_cast<const QAbstractButton*>(control) || qobject_cast<const QAbstractSpinBox*>(control);
            if (!isControl || control->objectName().startsWith(QLatin1String("qt_")) ||
                control->inherits("QComboBoxPrivateScroller"))
                continue;
            if (control->inherits("QScrollBar")) continue; // belongs to the list of a combo box
            QVERIFY2(!control->accessibleName().isEmpty(), control->metaObject()->className());
        }
    }
};

QS_TEST(TestSpecBar)
#include "spec_bar_test.moc"
