// argv -> verb -> exit code.

#include <clocale>
#include <cstdio>
#include <exception>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/log_file.h"
#include "app/options.h"
#include "app/verbs.h"

namespace {

int run_verb(const hearth::Options& options) {
    switch (options.verb) {
        case hearth::Verb::run:
            return hearth::verb_run(options);
        case hearth::Verb::window:
            return hearth::verb_window(options);
        case hearth::Verb::ls:
            return hearth::verb_ls(options);
        case hearth::Verb::show:
            return hearth::verb_show(options);
        case hearth::Verb::history:
            return hearth::verb_history(options);
        case hearth::Verb::rm:
            return hearth::verb_rm(options);
        case hearth::Verb::cache:
            return hearth::verb_cache(options);
        case hearth::Verb::export_chats:
            return hearth::verb_export(options);
        case hearth::Verb::import_chats:
            return hearth::verb_import(options);
        case hearth::Verb::backup:
            return hearth::verb_backup(options);
        case hearth::Verb::paths:
            return hearth::verb_paths(options);
        case hearth::Verb::inspect:
            return hearth::verb_inspect(options);
        case hearth::Verb::bench:
            return hearth::verb_bench(options);
        case hearth::Verb::doctor:
            return hearth::verb_doctor(options);
        case hearth::Verb::version:
        case hearth::Verb::help:
            return 0;  // answered while argv was read
    }
    return 2;
}

/// Makes descriptors 0 to 2 exist, so that no database or model is opened as one of them. What
/// was closed stays useless: reading finds the end, writing fails.
void fill_closed_descriptors() {
    for (int descriptor = 0; descriptor <= 2; ++descriptor) {
        if (::fcntl(descriptor, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY);
    }
}

}  // namespace

int main(int argc, char** argv) try {
    // What hearth makes is for its user alone: chats, history, log.
    ::umask(0077);
    fill_closed_descriptors();
    std::setlocale(LC_CTYPE, "");
    const hearth::ParsedOptions parsed = hearth::parse_options(
        std::vector<std::string>(argv + 1, argv + argc), hearth::process_environment);
    if (parsed.exit_code) {
        std::fputs(parsed.text.c_str(), *parsed.exit_code == 0 ? stdout : stderr);
        return *parsed.exit_code;
    }
    for (const std::string& warning : parsed.options.warnings) {
        if (!parsed.options.quiet) std::fprintf(stderr, "%s\n", warning.c_str());
    }
    hearth::open_log(parsed.options);
    const int code = run_verb(parsed.options);
    // A full disk or a closed pipe shows only here for the verbs that print through stdio.
    if (std::fflush(stdout) != 0 && code == 0) {
        std::fputs("hearth: not all of the output could be written\n", stderr);
        return 1;
    }
    return code;
} catch (const std::bad_alloc&) {
    std::fputs("hearth: out of memory\n", stderr);
    return 4;
} catch (const std::exception& error) {
    std::fprintf(stderr, "hearth: %s\n", error.what());
    return 1;
}
