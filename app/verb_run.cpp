#include <cstdio>

#include "app/repl/repl.h"
#include "app/run_once.h"
#include "app/session.h"
#include "app/signals.h"
#include "app/verbs.h"

namespace hearth {

int tell_error(const Error& error) {
    std::fprintf(stderr, "hearth: %s\n", printable(error.what).c_str());
    return exit_code(error.code);
}

int verb_run(const Options& options) {
    const bool talks = is_conversation(options);
    if (talks && !options.stdout_tty) {
        return tell_error({Errc::usage, "output goes to a file or a pipe: give a prompt as well"});
    }
    catch_signals();
    auto chat = open_chat(options);
    if (!chat) return tell_error(chat.error());
    return talks ? run_repl(**chat, options) : run_once(**chat, options);
}

}  // namespace hearth
