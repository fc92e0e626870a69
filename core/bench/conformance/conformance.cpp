// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/conformance/conformance.h"

#include "core/base/cell.h"
#include "core/bench/conformance/conformance_parts.h"
#include "plugins/abi/quantscope_backend.h"

#include <fmt/format.h>

namespace qs {
namespace {

class Suite {
public:
    Suite(const BackendSource& source, const ConformancePlan& plan, const Job& job,
          const std::function<void(const ConformanceCheck&)>& onCheck)
        : source_(source), plan_(plan), job_(job), checks_(source.id, onCheck) {}

    Result<void> run() {
        if (!probe()) return ended();
        auto opened = openBackend(source_, plan_.deadlines, job_);
        if (!opened) {
            checks_.failed("open", opened.error().reason);
            return ended();
        }
        backend_ = std::move(*opened);
        checks_.passed("open", "a context in a worker of its own");
        if (!devices()) return ended();
        const auto offers = askForOffers(*backend_, plan_, job_, checks_);
        if (!offers) return tl::unexpected(offers.error());
        if (checks_.alive()) askForTheUnknown(*backend_, checks_);
        if (!checks_.alive()) return ended();
        if (offers->empty()) {
            checks_.skipped("products", "none of the problems is supported");
        } else if (compileOnly_) {
            checks_.skipped("products", "there is no device: programs can only be compiled");
        } else {
            checkCalls(*backend_, offers->front(), job_, checks_);
            if (checks_.alive()) checkTails(*backend_, *offers, plan_, job_, checks_);
        }
        return ended();
    }

private:
    Result<void> ended() const {
        if (job_.cancelled()) return cancelledError();
        return {};
    }

    bool probe() {
        const auto first = probeBackend(source_, plan_.deadlines, job_);
        if (!first) return checks_.failed("probe", first.error().reason), false;
        if (!first->id.empty()) checks_.setId(first->id);
        const auto again = probeBackend(source_, plan_.deadlines, job_);
        if (!again) return checks_.failed("probe", "the second time: " + again.error().reason), false;
        const bool alike = first->state == again->state && first->id == again->id && first->reason == again->reason &&
                           first->version == again->version;
        if (!alike) return checks_.failed("probe", "the second answer differs"), false;
        const bool runs = first->state == RowState::Available || first->state == RowState::CompileOnly;
        if (!runs && first->reason.empty())
            return checks_.failed("probe", std::string(rowStateText(first->state)) + " without a reason"), false;
        checks_.passed("probe", fmt::format("{} twice, version {}", rowStateText(first->state), first->version));
        if (!runs) checks_.skipped("open", fmt::format("{}: {}", rowStateText(first->state), first->reason));
        return runs;
    }

    bool devices() {
        const auto devices = backend_->devices();
        if (!devices) return checks_.broke("devices", "device_get", devices.error()), false;
        if (devices->empty()) return checks_.failed("devices", "available, but without a device"), false;
        compileOnly_ = devices->front().kind == QS_DEVICE_COMPILE_ONLY;
        const auto text = backend_->describe();
        if (!text && text.error().state != RowState::Declined)
            return checks_.broke("describe", "describe", text.error()), false;
        checks_.passed("devices", fmt::format("{}, the first is {}", devices->size(), devices->front().name));
        return true;
    }

    const BackendSource& source_;
    const ConformancePlan& plan_;
    const Job& job_;
    Checks checks_;
    std::unique_ptr<Backend> backend_;
    bool compileOnly_ = false;
};

} // namespace

Result<void> checkConformance(const BackendSource& source, const ConformancePlan& plan, const Job& job,
                              const std::function<void(const ConformanceCheck&)>& onCheck) {
    return Suite(source, plan, job, onCheck).run();
}

const Columns<ConformanceCheck>& conformanceColumns() {
    using R = ConformanceCheck;
    constexpr auto none = Direction::None;
    static const Columns<R> columns = {
        columnOf<R>({"backend", "Backend", "", Show::Text, 0, none, "Id of the backend"}, &R::backend),
        columnOf<R>({"check", "Check", "", Show::Text, 0, none, "What was asked of it"}, &R::check),
        columnOf<R>({"result", "Result", "", Show::Text, 0, none, "ok, failed or skipped"},
                    [](const R& r) {
                        return r.result == CheckResult::Passed   ? "ok"
                               : r.result == CheckResult::Failed ? "failed"
                                                                 : "skipped";
                    }),
        columnOf<R>({"detail", "Detail", "", Show::Text, 0, none, "What was seen"}, &R::detail),
    };
    return columns;
}

} // namespace qs
