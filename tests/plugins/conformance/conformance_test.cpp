// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the conformance suite over all backends: the shipped ones, the example of CONTRIBUTING.md, and the faulty one.
#include "core/bench/conformance/conformance.h"
#include "tests/plugins/bad/bad_source.h"
#include "tests/plugins/pjrt/real_plugin.h"
#include "tests/support/test_program.h"

#include <QTest>
#include <set>

using namespace qs;

namespace {

std::vector<ConformanceCheck> checksOf(const BackendSource& source, const ConformancePlan& plan) {
    std::vector<ConformanceCheck> checks;
    const auto done = checkConformance(source, plan, {}, [&](const auto& check) { checks.push_back(check); });
    if (!done) qFatal("%s", done.error().message.c_str());
    return checks;
}

} // namespace

class ConformanceTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
#if defined(__SANITIZE_ADDRESS__)
        qunsetenv("QUANTSCOPE_PJRT_PLUGIN"); // may not load under AddressSanitizer; real_plugin_test covers it
#else
        if (test::whyNoRealPlugin().isEmpty()) qputenv("QUANTSCOPE_PJRT_PLUGIN", test::realPluginPath().toLocal8Bit());
#endif
        sources_ = backendSources(std::vector<std::string>{QS_TEST_BACKENDS "/example.so"});
    }

    void everyBackend_data() {
        QTest::addColumn<int>("source");
        for (std::size_t i = 0; i < sources_.size(); ++i) QTest::newRow(sources_[i].id.c_str()) << int(i);
    }
    void everyBackend() {
        QFETCH(int, source);
        const auto& asked = sources_[std::size_t(source)];
        if (!asked.built) QSKIP("not built");
        const bool compiles = asked.id == "pjrt";
        ConformancePlan plan{{}, compiles ? 1.0 : 2.0, test::patient()};
        if (compiles) plan.specs = {"int8", "nf4", "f32"};
        const auto checks = checksOf(asked, plan);
        std::set<std::string> seen;
        for (const auto& check : checks) {
            QVERIFY2(check.result != CheckResult::Failed, (check.check + ": " + check.detail).c_str());
            seen.insert(check.check);
        }
        if (checks.back().check == "open" && checks.back().result == CheckResult::Skipped)
            QSKIP(checks.back().detail.c_str());
        for (const char* check : {"probe", "open", "devices", "query", "declines", "refusals", "handles", "timing",
                                  "artifacts", "tail shapes"})
            QVERIFY2(seen.count(check), check);
    }

    void aBadOne_data() {
        QTest::addColumn<QString>("fault");
        QTest::addColumn<QString>("check");
        const auto add = [](const char* fault, const char* check) {
            QTest::newRow(fault) << QString::fromLatin1(fault) << QString::fromLatin1(check);
        };
        add("probe:crash", "probe");
        add("open:failed", "open");
        add("devices:none", "devices");
        add("query:crash", "query");
        add("prepare:crash", "refusals");
        add("execute:nan", "handles");
        add("bench:failed", "timing");
        add("artifact:crash", "artifacts");
    }
    void aBadOne() {
        QFETCH(QString, fault);
        QFETCH(QString, check);
        const auto checks = checksOf(test::badSource(fault.toStdString()), {{"f32"}, 5, test::patient()});
        bool found = false;
        for (const auto& one : checks) {
            QVERIFY(!one.detail.empty());
            found |= one.result == CheckResult::Failed && one.check == check.toStdString();
        }
        QVERIFY(found);
    }
    void whatItCannotIsSeen() {
        // The faulty backend only multiplies f32 but accepts all formats.
        int failed = 0;
        for (const auto& one : checksOf(test::badSource(), {{"f32", "nf4"}, 5, test::patient()}))
            if (one.result == CheckResult::Failed) ++failed;
        QVERIFY(failed >= 3 && failed <= 12);
    }

private:
    std::vector<BackendSource> sources_;
};

QS_TEST(ConformanceTest)
#include "conformance_test.moc"
