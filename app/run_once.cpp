#include "app/run_once.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <nlohmann/json.hpp>
#include <signal.h>
#include <unistd.h>

#include "app/answer_report.h"
#include "app/session.h"
#include "app/signals.h"
#include "app/text_input.h"
#include "app/verbs.h"

namespace hearth {
namespace {

/// How long a stop request may wait for the next look at the flag.
constexpr int kPumpMs = 20;

/// Writes everything to a descriptor. Returns 0, or the errno of what stopped it.
int write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(descriptor, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : EIO;
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return 0;
}

/// The answer's way out: what could not be written is tried once, and remembered.
class AnswerOutput {
  public:
    void write(std::string_view text) {
        if (error_ == 0) error_ = write_all(STDOUT_FILENO, text);
    }
    int error() const { return error_; }  ///< 0, or an errno

  private:
    int error_ = 0;
};

/// One line on a terminal's stderr that shows what the engine does until the answer begins.
class ProgressLine {
  public:
    explicit ProgressLine(const Options& options)
        : on_(options.stderr_tty && !options.quiet && !options.term.empty() &&
              options.term != "dumb") {}
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(const ViewState& view) {
        if (!on_) return;
        std::string text;
        if (view.phase == Phase::queued) text = view.queued_reason;
        if (view.phase == Phase::loading) text = "loading " + loading_name(view);
        if (view.phase == Phase::prefill) {
            text = fmt::format("reading {} of {} tokens", view.prefill_done, view.prefill_total);
        }
        if (text == shown_) return;
        clear();
        shown_ = text;
        (void)write_all(STDERR_FILENO, text);
    }
    void clear() {
        if (!shown_.empty()) (void)write_all(STDERR_FILENO, "\r\x1b[K");
        shown_.clear();
    }

  private:
    const bool on_;
    std::string shown_;
};

void tell_notes(ChatController& chat, const Options& options, ProgressLine& progress) {
    for (const std::string& sentence : chat.take_notes()) {
        if (options.quiet) continue;
        progress.clear();
        (void)write_all(STDERR_FILENO, printable(sentence) + "\n");
    }
}

/// stdin (a document, or the prompt itself) and the prompt argument become one message.
Result<std::string> compose_prompt(ChatController& chat, const Options& options) {
    const bool stdin_only = options.prompt && *options.prompt == "-";
    std::string piped;
    if (!options.stdin_tty || stdin_only) {
        HEARTH_TRY(const std::string bytes, read_standard_input());
        std::size_t replaced = 0;
        piped = valid_utf8(bytes, &replaced);
        if (replaced > 0 && !options.quiet) {
            std::fprintf(stderr, "standard input has %zu bytes that are no text; they are marked\n",
                         replaced);
        }
        while (!piped.empty() && piped.back() == '\n') piped.pop_back();
    }
    std::string prompt = options.prompt && !stdin_only ? *options.prompt : "";
    if (prompt.empty()) prompt = std::exchange(piped, "");
    if (!piped.empty()) HEARTH_TRY_VOID(chat.attach_text("", piped));
    if (prompt.empty() && chat.view().attachments.empty()) {
        return fail(Errc::usage, "there is no question: give a prompt, or pipe a text in");
    }
    return prompt;
}

Result<void> begin(ChatController& chat, const Options& options) {
    if (!options.ids.empty()) return chat.send_raw(options.ids);
    HEARTH_TRY(const std::string prompt, compose_prompt(chat, options));
    if (!options.raw) return chat.send(prompt);
    HEARTH_TRY(const std::string tokens,
               inspect::tokenize(chat.view().model_path, chat.take_attachments() + prompt, true));
    const auto json = nlohmann::json::parse(tokens, nullptr, false);
    if (!json.is_object() || !json.contains("ids")) {
        return fail(Errc::failed, "the text cannot be turned into token ids");
    }
    return chat.send_raw(json["ids"].get<std::vector<std::int32_t>>());
}

int exit_code_of(const TurnResult& result, int output_error) {
    if (caught_signal() != 0) return 128 + caught_signal();
    if (output_error == EPIPE) return 128 + SIGPIPE;  // as any program before `| head`
    if (result.error) return tell_error(*result.error);
    if (output_error == 0) return 0;
    return tell_error({Errc::failed, fmt::format("the answer cannot be written to the output: {}",
                                                 std::strerror(output_error))});
}

}  // namespace

int run_once(ChatController& chat, const Options& options) {
    ProgressLine progress(options);
    tell_notes(chat, options, progress);
    if (auto begun = begin(chat, options); !begun) {
        if (caught_signal() != 0) return 128 + caught_signal();
        return tell_error(begun.error());
    }
    const bool streams = options.stream && !options.json;
    std::size_t n_written = 0;
    AnswerOutput out;
    bool stopping = false;
    while (chat.busy()) {
        chat.pump(kPumpMs);
        tell_notes(chat, options, progress);
        const std::string& answer = chat.view().answer;
        if (streams && answer.size() > n_written && out.error() == 0) {
            progress.clear();
            const std::string piece = answer.substr(n_written);
            n_written = answer.size();
            out.write(options.stdout_tty ? printable(piece) : piece);
        } else if (answer.empty()) {
            progress.show(chat.view());
        }
        if ((out.error() != 0 || caught_signal() != 0) && !stopping) {
            stopping = true;
            chat.stop();
        }
    }
    progress.clear();
    tell_notes(chat, options, progress);
    const ViewState& view = chat.view();
    std::string rest = view.answer.substr(n_written);
    if (options.json && !view.last->error) rest = answer_as_json(view);
    if (options.json && view.last->error) rest.clear();
    if (options.stdout_tty && !options.json) rest = printable(rest);
    const bool ends_line =
        rest.empty() ? view.answer.empty() || view.answer.back() == '\n' : rest.back() == '\n';
    if (!ends_line) rest += '\n';
    out.write(rest);
    const Stats& stats = view.last->stats;
    if (view.last->reason == FinishReason::length && stats.context_used >= stats.context_tokens &&
        !options.quiet) {
        (void)write_all(STDERR_FILENO,
                        fmt::format("the answer ends here because the context of {} tokens is "
                                    "full\n",
                                    stats.context_tokens));
    }
    if (options.stats && !view.last->error) {
        (void)write_all(STDERR_FILENO, answer_stats(view, chat.params()));
    }
    return exit_code_of(*view.last, out.error());
}

}  // namespace hearth
