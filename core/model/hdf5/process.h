// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Sends requests to one sandboxed process that runs libhdf5. The process may crash, hang or send wrong answers. Each of
// these becomes an error with one sentence, and the process is ended.

#include "core/process/deadline.h"
#include "core/process/fields.h"
#include "core/process/shared_buffer.h"

#include <optional>
#include <span>

namespace qs {

class Hdf5Process {
public:
    /// `path` is the file's name in messages. `blame` is the end of messages about the process: "the file is damaged".
    static Result<std::unique_ptr<Hdf5Process>> start(const std::string& path, const Descriptor& file,
                                                      std::uint64_t windowBytes, std::string blame);
    /// How long the process may go on without progress.
    struct Stall {
        double working = 0; ///< seconds of CPU time; 0: no limit
        double idle = 0;    ///< seconds without CPU time and without waiting for the disk; 0: no limit
    };
    /// Sends a request and returns the object of the answer, which the caller must check with Fields. If the thread's
    /// job is cancelled it returns at once, and the answer is dropped when it arrives. If the process says that it failed
    /// to read a tensor (call "read"), others can still be read.
    Result<nlohmann::json> ask(nlohmann::json request, double seconds, const Stall& stall);
    Result<nlohmann::json> ask(nlohmann::json request, double seconds) { return ask(std::move(request), seconds, {}); }
    /// Ends the process because of a wrong answer. `what` says what it did: "answered with garbage: ...".
    tl::unexpected<Error> broken(const std::string& what);
    /// The first failure of the process. After it every request fails.
    const std::optional<Error>& failure() const { return failed_; }
    std::span<std::byte> window() const { return {window_->data() + pathBytes(), window_->size() - pathBytes()}; }
    void end();

private:
    Hdf5Process(std::string path, std::string blame) : path_(std::move(path)), blame_(std::move(blame)) {}
    static std::uint64_t pathBytes();
    Result<std::optional<nlohmann::json>> answerIn(const Frame& frame);
    tl::unexpected<Error> noAnswer(const Awaited& awaited, double seconds, const Stall& stall);
    tl::unexpected<Error> failWith(std::string sentence);
    std::string place() const; ///< " at "/layers/dense"": the object that the process reads now, as it says

    std::string path_, blame_;
    std::shared_ptr<SharedBuffer> window_;
    std::unique_ptr<WorkerProcess> process_;
    std::uint64_t progress() const;
    std::uint64_t question_ = 0;
    bool isOfOneTensor_ = false; ///< the question is one to read a tensor
    bool abandoned_ = false;     ///< true: an earlier request was cancelled, and its answer may still arrive
    std::optional<Error> failed_;
};

} // namespace qs
