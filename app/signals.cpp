#include "app/signals.h"

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
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
}

int caught_signal() { return caught; }

void clear_signal() { caught = 0; }

}  // namespace hearth
