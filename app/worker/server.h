// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Answers the program's questions about one backend. The plugin is called from the thread of run() alone; a second
// thread reads, so that a cancel arrives while a step runs and the end of the program is noticed while a plugin hangs.

#include "core/bench/backend/local_backend.h"
#include "core/process/fields.h"
#include "core/process/frame.h"

#include <condition_variable>
#include <deque>

namespace qs::worker {

/// Ends this process and all that the plugin has started.
[[noreturn]] void endGroup();

class Server {
public:
    Server(Descriptor control, std::string backend);
    [[noreturn]] void run();

private:
    using Answer = Outcome<nlohmann::json>;
    struct Call {
        const char* name;
        Answer (Server::*run)(Fields& fields, Frame& frame);
        bool opened; ///< needs an open backend
    };
    static const Call kCalls[];

    [[noreturn]] void read();
    void take(Frame frame);
    Frame next();
    Answer answer(Frame& frame);

    Answer load(Fields& fields, Frame& frame);
    Answer probe(Fields& fields, Frame& frame);
    Answer open(Fields& fields, Frame& frame);
    Answer describe(Fields& fields, Frame& frame);
    Answer devices(Fields& fields, Frame& frame);
    Answer roof(Fields& fields, Frame& frame);
    Answer query(Fields& fields, Frame& frame);
    Answer prepare(Fields& fields, Frame& frame);
    Answer execute(Fields& fields, Frame& frame);
    Answer bench(Fields& fields, Frame& frame);
    Answer artifact(Fields& fields, Frame& frame);
    Answer destroy(Fields& fields, Frame& frame);
    Answer close(Fields& fields, Frame& frame);

    /// Maps the frame's descriptors, forgets what was dropped.
    void takeBuffers(Fields& fields, Frame& frame);
    std::vector<HostTensor> tensors(Fields& fields, const char* key);

    Channel control_;
    std::string backend_;
    std::shared_ptr<PluginHost> host_;
    Options options_;
    const qs_backend* table_ = nullptr;
    std::unique_ptr<LocalBackend> opened_;
    std::map<std::uint64_t, std::shared_ptr<SharedBuffer>> buffers_;

    std::mutex mutex_; ///< guards what follows, and opened_ against a cancel
    std::condition_variable arrived_;
    std::deque<Frame> queue_;
    std::uint64_t running_ = 0; ///< id of the question that is being answered
};

} // namespace qs::worker
