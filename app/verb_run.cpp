#include <cstdio>

#include <sys/stat.h>
#include <unistd.h>

#include "app/gui/first_window.h"
#include "app/gui/window.h"
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

namespace {

Result<int> open_window(const Options& options) {
    catch_signals();
    if (!options.no_log && gui::raise_first_window(options.paths.state_dir)) return 0;
    HEARTH_TRY_VOID(make_private_dir(options.paths.state_dir));
    HEARTH_TRY(const auto chat, open_chat_for_window(options));
    return gui::run_window(*chat, options);
}

/// Started by a person or a desktop, not by a pipe: stdin is a terminal, /dev/null, or closed.
bool is_at_a_desk(const Options& options) {
    if (options.stdin_tty) return true;
    struct stat input = {};
    return ::fstat(STDIN_FILENO, &input) != 0 || S_ISCHR(input.st_mode);
}

}  // namespace

int verb_window(const Options& options) {
    if (!options.has_display) {
        return tell_error({Errc::failed,
                           "there is no display for a window (DISPLAY and WAYLAND_DISPLAY are "
                           "empty); hearth run is the chat in the terminal"});
    }
    const Result<int> code = open_window(options);
    return code ? *code : tell_error(code.error());
}

int verb_run(const Options& options) {
    if (options.bare && options.has_display && is_at_a_desk(options)) {
        const Result<int> code = open_window(options);
        if (code) return *code;
        if (!options.stdin_tty) return tell_error(code.error());
        std::fprintf(stderr, "hearth: no window: %s. This is the chat in the terminal.\n",
                     printable(code.error().what).c_str());
    }
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
