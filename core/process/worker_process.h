// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A quantscope-worker: a process in a group of its own. Its output is read; it ends with all processes that it started.

#include "core/base/result.h"
#include "core/process/frame.h"

#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace qs {

/// QS_WORKER, or quantscope-worker beside the running program.
std::string workerProgram();

/// How a worker is started.
struct WorkerStart {
    std::vector<std::string> arguments;     ///< "--cfg 3", the number of the control socket, is put behind them
    std::vector<int> descriptors{};         ///< become its descriptors 4, 5 ...; standard input is empty
    std::vector<std::string> environment{}; ///< all of it, as "NAME=value"
    bool startsOthers = false;              ///< it may start processes of its own: they are marked, and end with it
};

/// How a worker ended by itself.
struct Ending {
    std::string text;    ///< "SIGSEGV", "exited with code 0"; "" when it was alive
    bool exited = false; ///< it returned, no signal ended it
};

class WorkerProcess {
public:
    static Result<std::unique_ptr<WorkerProcess>> start(WorkerStart how);
    ~WorkerProcess() { end(); }
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    Channel& control() { return control_; }
    /// Sleeps until something has arrived, at most `milliseconds`; takes what was printed meanwhile.
    void wait(int milliseconds);
    /// Kills the process group and all marked processes, and waits for the worker. Says how the worker itself had ended
    /// by then, after `grace` seconds. Repeatable.
    Ending end(double grace = 0);
    /// The worker has ended by itself. Its children may hold the socket open, so that no end of it is seen.
    bool dead() const;
    /// CPU time that the worker itself has used; 0 when it is gone.
    double cpuSeconds() const;
    /// The worker itself waits in the kernel for a disk or a network share, and cannot be interrupted.
    bool waitsForDisk() const;
    /// The last lines of what it printed on both streams.
    const std::string& log() const { return log_; }
    /// The last line on stderr that is not blank, escaped.
    std::string lastErrorLine() const;

private:
    struct Stream {
        Descriptor pipe;
        std::string tail;
    };
    WorkerProcess(pid_t pid, Descriptor control, Descriptor out, Descriptor err);
    void drain(Stream& stream);
    pid_t pid_;
    Channel control_;
    Descriptor pidfd_; ///< wakes the poll when the worker ends; -1 where the kernel has none
    Stream out_, err_;
    std::string log_;
    Ending ending_;
    std::string mark_; ///< of the processes that it starts; "": it starts none
};

} // namespace qs
