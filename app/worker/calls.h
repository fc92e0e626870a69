// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What each request does with the backend of this process. Called from one thread, but for cancel().

#include "core/bench/backend/local_backend.h"
#include "core/process/fields.h"
#include "core/process/frame.h"

namespace qs::worker {

class Calls {
public:
    using Answer = Outcome<nlohmann::json>;
    explicit Calls(std::string backend);

    /// Before a request is answered: forgets an earlier cancel.
    void begin() { host_->stop = false; }
    /// None: no request has this name.
    std::optional<Answer> answer(const std::string& name, Fields& fields, Frame& frame);
    void cancel();                            ///< from any thread
    bool isClosed() const { return closed_; } ///< the last answer is the last thing that this process says

private:
    struct Call {
        const char* name;
        Answer (Calls::*run)(Fields& fields, Frame& frame);
        bool opened; ///< needs an open backend
    };
    static const Call kCalls[];

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

    std::string backend_;
    std::shared_ptr<PluginHost> host_;
    Options options_;
    const qs_backend* table_ = nullptr;
    std::mutex mutex_; ///< guards opened_ against a cancel
    std::unique_ptr<LocalBackend> opened_;
    std::map<std::uint64_t, std::shared_ptr<SharedBuffer>> buffers_;
    bool closed_ = false;
};

} // namespace qs::worker
