// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Questions to one sandboxed process that runs libhdf5. It may crash, hang or lie: each is a sentence, and the end of it.

#include "core/process/deadline.h"
#include "core/process/fields.h"
#include "core/process/shared_buffer.h"

#include <optional>
#include <span>

namespace qs {

class Hdf5Process {
public:
    /// `path` is what sentences call the file; `blame` ends those about the process: "the file is damaged".
    static Result<std::unique_ptr<Hdf5Process>> start(const std::string& path, const Descriptor& file,
                                                      std::uint64_t windowBytes, std::string blame);
    /// How long the process may go on without progress.
    struct Stall {
        double working = 0; ///< seconds of CPU time; 0: for ever
        double idle = 0;    ///< seconds in which it uses no CPU time either, nor waits for the disk; 0: for ever
    };
    /// The answer's object, which has yet to be read with Fields. When the thread's job is cancelled the answer is not
    /// waited for, and dropped when it comes.
    Result<nlohmann::json> ask(nlohmann::json request, double seconds, const Stall& stall);
    Result<nlohmann::json> ask(nlohmann::json request, double seconds) { return ask(std::move(request), seconds, {}); }
    /// Ends the process because of what it has done: "answered with garbage: ...".
    tl::unexpected<Error> broken(const std::string& what);
    /// How it failed, since then for good.
    const std::optional<Error>& failure() const { return failed_; }
    std::span<std::byte> window() const { return {window_->data() + pathBytes(), window_->size() - pathBytes()}; }
    void end();

private:
    Hdf5Process(std::string path, std::string blame) : path_(std::move(path)), blame_(std::move(blame)) {}
    static std::uint64_t pathBytes();
    Result<std::optional<nlohmann::json>> answerIn(const Frame& frame);
    tl::unexpected<Error> noAnswer(const Awaited& awaited, double seconds, const Stall& stall);
    tl::unexpected<Error> failWith(std::string sentence);
    std::string place() const; ///< " at "/layers/dense"", by what the process says it reads

    std::string path_, blame_;
    std::shared_ptr<SharedBuffer> window_;
    std::unique_ptr<WorkerProcess> process_;
    std::uint64_t progress() const;
    std::uint64_t question_ = 0;
    bool abandoned_ = false; ///< questions before this one were
    std::optional<Error> failed_;
};

} // namespace qs
