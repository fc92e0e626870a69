// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/hdf5/process.h"

#include "core/base/job_scope.h"
#include "core/base/text.h"
#include "core/model/hdf5/window.h"

#include <cstring>
#include <fmt/format.h>

namespace qs {

using nlohmann::json;

namespace {

/// Longest answer in bytes. Correct answers are shorter. A parsed text can take thirty times its size in memory.
constexpr std::size_t kLongestAnswer = 4u << 20;

} // namespace

std::uint64_t Hdf5Process::pathBytes() { return kHdf5PathBytes; }

Result<std::unique_ptr<Hdf5Process>> Hdf5Process::start(const std::string& path, const Descriptor& file,
                                                        std::uint64_t windowBytes, std::string blame) {
    auto started = std::unique_ptr<Hdf5Process>(new Hdf5Process(path, std::move(blame)));
    auto window = SharedBuffer::create(kHdf5PathBytes + windowBytes);
    if (!window) return tl::unexpected(window.error());
    started->window_ = std::move(*window);
    auto process = WorkerProcess::start(
        {.arguments = {"--hdf5"}, .descriptors = {file.get(), started->window_->descriptor()}}); // no environment
    if (!process) return tl::unexpected(process.error());
    started->process_ = std::move(*process);
    started->process_->control().limitFrames(kLongestAnswer);
    return started;
}

Result<json> Hdf5Process::ask(json request, double seconds, const Stall& stall) {
    if (failed_) return tl::unexpected(*failed_);
    request["id"] = ++question_;
    isOfOneTensor_ = request.value("call", std::string()) == "read";
    if (const auto sent = process_->control().send(request); !sent && !sent.error().closed)
        return broken("takes no questions: " + sent.error().what);
    Deadline deadline(seconds);
    const StallLimits limits{[this] { return progress(); }, stall.working, stall.idle};
    for (;;) {
        const auto awaited = awaitFrame(*process_, deadline, limits, [] { return JobScope::cancelled(); });
        if (awaited.how != Waited::Arrived) return noAnswer(awaited, seconds, stall);
        auto answer = answerIn(awaited.frame);
        if (!answer) return tl::unexpected(answer.error());
        if (*answer) return std::move(**answer);
    }
}

tl::unexpected<Error> Hdf5Process::noAnswer(const Awaited& awaited, double seconds, const Stall& stall) {
    switch (awaited.how) {
    case Waited::Stopped: abandoned_ = true; return cancelledError();
    case Waited::Garbage: return broken("answered with garbage: " + awaited.why);
    case Waited::Spins: return broken(fmt::format("went round for {:.4g} s without getting on", stall.working));
    case Waited::Sleeps: return broken(fmt::format("did nothing for {:.4g} s", stall.idle));
    case Waited::Late: return broken(fmt::format("gave no answer for {:.4g} s", seconds));
    default: break;
    }
    const auto how = process_->end(1);
    const auto line = process_->lastErrorLine();
    if (how.exited && how.code == kHdf5NoSandbox) // no fault of the file, of which nothing was read
        return failWith(fmt::format("{} is not read: {}.", shownPath(path_), line));
    return broken(fmt::format("stopped ({}{})", how.text.empty() ? "closed its connection" : how.text,
                              line.empty() ? "" : ": " + line));
}

/// Reads the answer in a frame. Nullopt: it answers a request that was cancelled.
Result<std::optional<json>> Hdf5Process::answerIn(const Frame& frame) {
    Fields fields(frame.body);
    const auto id = fields.count("id", UINT64_MAX);
    if (!fields.problem() && abandoned_ && id < question_) return std::optional<json>();
    abandoned_ = false;
    if (!fields.problem() && id != question_) fields.refuse("an answer to another question");
    if (!fields.problem() && !frame.descriptors.empty()) fields.refuse("a descriptor that was not asked for");
    if (!fields.problem() && fields.has("failure")) {
        const auto why = fields.text("failure", 2000);
        if (!fields.problem()) {
            auto sentence =
                fmt::format("{} cannot be read as HDF5{}: {}.", shownPath(path_), place(), escapeForPeople(why, 200));
            if (isOfOneTensor_) return fail(oneSentence(sentence), path_);
            return failWith(std::move(sentence));
        }
    }
    const json& answer = fields.object("answer");
    if (fields.problem()) return broken("answered with garbage: " + *fields.problem());
    return std::optional<json>(answer);
}

std::uint64_t Hdf5Process::progress() const {
    std::uint64_t count = 0; // a copy, because the process may change the original at any time
    std::memcpy(&count, window_->data() + kHdf5ProgressAt, sizeof count);
    return count;
}

tl::unexpected<Error> Hdf5Process::broken(const std::string& what) {
    return failWith(fmt::format("{}: the reader of HDF5 {}{}; {}.", shownPath(path_), what, place(), blame_));
}

tl::unexpected<Error> Hdf5Process::failWith(std::string sentence) {
    process_->end();
    failed_ = Error{oneSentence(sentence), path_, -1, false};
    return tl::unexpected(*failed_);
}

void Hdf5Process::end() {
    process_->end();
    if (!failed_) failed_ = Error{shownPath(path_) + ": its reader has ended.", path_, -1, false};
}

std::string Hdf5Process::place() const {
    char path[kHdf5ProgressAt]; // a copy, because the process may change the original at any time
    std::memcpy(path, window_->data(), sizeof path);
    const auto length = strnlen(path, sizeof path);
    return length == 0 ? "" : " at \"" + escapeForPeople(std::string_view(path, length), 120) + "\"";
}

} // namespace qs
