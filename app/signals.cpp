#include "app/signals.h"

#include <initializer_list>

#include <signal.h>
#include <unistd.h>

namespace hearth {
namespace {

volatile sig_atomic_t caught = 0;

void on_signal(int signal) {
    if (signal == SIGINT && caught == SIGINT) ::_exit(130);
    caught = signal;
}

}  // namespace

void catch_signals() {
    struct sigaction action = {};
    action.sa_handler = on_signal;  // no SA_RESTART: a blocked read must come back
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        // nohup and `&` ignore some of them on purpose.
        struct sigaction before = {};
        ::sigaction(signal, nullptr, &before);
        if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
    }
    // Writing says what went wrong: the reader is gone, the file may not grow any more.
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
}

int caught_signal() { return caught; }

void clear_signal() { caught = 0; }

}  // namespace hearth
