// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/interrupt.h"

#include "app/cli/terminal.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <semaphore.h>
#include <thread>
#include <unistd.h>

namespace qs::cli {
namespace {

volatile std::sig_atomic_t gSignal = 0;
const Job* gJob = nullptr;

std::string& sentenceOfStop() {
    static std::string sentence = "stopped; nothing was written.";
    return sentence;
}

sem_t gSignalled;

extern "C" void onSignal(int number) {
    gSignal = number;
    gJob->cancel(); // a lock-free store, allowed in a signal handler
    sem_post(&gSignalled);
}

std::atomic<int> gEndsAtOnce{0};

void endAfterSignal() {
    while (sem_wait(&gSignalled) != 0) {
    }
    do {
        std::this_thread::sleep_for(std::chrono::milliseconds(200)); // gives the command time to stop by itself and
                                                                     // print its own message
    } while (gEndsAtOnce.load() == 0);
    clearProgress();
    std::fputs("quantscope-cli: stopped; nothing was written.\n", stderr);
    ::_exit(128 + gSignal);
}

} // namespace

const Job& processJob() {
    static const Job job([](const Progress& progress) { showProgress(progress); });
    return job;
}

void catchSignals() {
    gJob = &processJob();
    sem_init(&gSignalled, 0, 0);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // signals are blocked in the new thread, so other threads handle them
    std::thread(endAfterSignal).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    struct sigaction action {};
    action.sa_handler = onSignal;
    sigemptyset(&action.sa_mask);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction present {};
        sigaction(number, nullptr, &present);
        if (present.sa_handler != SIG_IGN) sigaction(number, &action, nullptr); // keeps signals ignored under nohup
    }
}

EndsAtOnce::EndsAtOnce() { ++gEndsAtOnce; }
EndsAtOnce::~EndsAtOnce() { --gEndsAtOnce; }

int caughtSignal() { return gSignal; }

void stoppedWith(std::string sentence) { sentenceOfStop() = std::move(sentence); }
const std::string& stoppedSentence() { return sentenceOfStop(); }

} // namespace qs::cli
