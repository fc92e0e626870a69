// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/interrupt.h"

#include "app/cli/terminal.h"

#include <csignal>

namespace qs::cli {
namespace {

volatile std::sig_atomic_t gSignal = 0;
const Job* gJob = nullptr;

std::string& sentenceOfStop() {
    static std::string sentence = "stopped; nothing was written.";
    return sentence;
}

extern "C" void onSignal(int number) {
    gSignal = number;
    gJob->cancel(); // a lock-free store
}

} // namespace

const Job& processJob() {
    static const Job job([](const Progress& progress) { showProgress(progress); });
    return job;
}

void catchSignals() {
    gJob = &processJob();
    struct sigaction action {};
    action.sa_handler = onSignal;
    sigemptyset(&action.sa_mask);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction before {};
        sigaction(number, nullptr, &before);
        if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr); // nohup stays nohup
    }
}

int caughtSignal() { return gSignal; }

void stoppedWith(std::string sentence) { sentenceOfStop() = std::move(sentence); }
const std::string& stoppedSentence() { return sentenceOfStop(); }

} // namespace qs::cli
