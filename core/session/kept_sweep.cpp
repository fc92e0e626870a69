// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/kept_json.h"
#include "core/session/kept_results.h"

namespace qs {
namespace kept {
namespace {

struct SpecKept {
    std::string line, spec;
    std::uint32_t block = 0;
};
struct SweepKept {
    std::vector<std::string> tensors, classes;
    std::vector<SpecKept> specs;
    std::vector<SweepPoint> points;
    double seconds = 0;
    std::uint64_t sourceBytes = 0;
    bool complete = true, asSource = false;
};

} // namespace

template<class Io> static void fields(Io& io, SpecKept& one) {
    io("line", one.line);
    io("spec", one.spec);
    io("block", one.block);
}
template<class Io> static void fields(Io& io, SweepPoint& point) {
    io("class", point.className);
    io("spec", point.spec);
    io("line", point.line);
    io("text", point.specText);
    io("full", point.specFull);
    io("block", point.block);
    io("tensors", point.tensors);
    io("measured", point.measured);
    io("refused", point.refused);
    io("elements", point.elements);
    io("bytes", point.bytes);
    io("error", point.errorPower);
    io("power", point.power);
    io("frontier", point.frontier);
    io("worst", point.worstTensor);
    io("worst_nmse", point.worstNmse);
    io("reason", point.reason);
}
template<class Io> static void fields(Io& io, SweepKept& all) {
    io("tensors", all.tensors);
    io("classes", all.classes);
    io("specs", all.specs);
    io("points", all.points);
    io("seconds", all.seconds);
    io("source_bytes", all.sourceBytes);
    io("complete", all.complete);
    io("as_source", all.asSource);
}

} // namespace kept

std::string keptSweep(const KeptSweep& sweep) {
    kept::SweepKept all{{},
                        sweep.result.classes,
                        {},
                        sweep.result.points,
                        sweep.result.seconds,
                        sweep.result.sourceBytes,
                        sweep.complete};
    all.asSource = sweep.plan.decodedAs == DecodedAs::Source;
    for (const auto* tensor : sweep.plan.tensors) all.tensors.push_back(tensor->name);
    for (const auto& spec : sweep.plan.specs) all.specs.push_back({spec.line, specText(spec.spec), spec.block});
    return kept::textOf(all);
}

Result<KeptSweep> sweepKept(const std::string& text, const std::shared_ptr<const Model>& model) {
    auto all = kept::fromText<kept::SweepKept>(text);
    if (!all) return fail("the kept sweep is damaged: " + all.error());
    KeptSweep sweep{
        {model, {}, {}},
        {std::move(all->classes), std::move(all->points), all->specs.size(), all->seconds, all->sourceBytes},
        all->complete};
    sweep.plan.decodedAs = all->asSource ? DecodedAs::Source : DecodedAs::F32;
    const auto& result = sweep.result;
    if (result.points.size() != result.classes.size() * result.specs || result.points.empty())
        return fail("the kept sweep is damaged: points are missing");
    for (const auto& point : result.points)
        if (point.spec >= result.specs) return fail("the kept sweep is damaged: a point is of no spec");
    for (const auto& name : all->tensors) {
        const auto* tensor = model->find(name);
        if (!tensor) return fail("the kept sweep is of other tensors");
        sweep.plan.tensors.push_back(tensor);
    }
    for (auto& one : all->specs) {
        auto spec = parseSpec(one.spec);
        if (!spec) return tl::unexpected(spec.error());
        sweep.plan.specs.push_back({std::move(one.line), one.block, std::move(*spec)});
    }
    markFrontier(sweep.result);
    return sweep;
}

} // namespace qs
