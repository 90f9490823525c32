#include "app/repl/turn_view.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <unistd.h>

#include "app/repl/command_table.h"
#include "app/repl/graphemes.h"

namespace hearth::repl {
namespace {

constexpr auto kProgressDelay = std::chrono::milliseconds(200);  ///< quick answers show none
constexpr auto kFrame = std::chrono::milliseconds(100);
constexpr int kWaitMs = 50;
constexpr auto kPatience = std::chrono::seconds(2);  ///< for the engine when the program must end
constexpr const char* kSpinner[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};

std::string duration(double seconds) {
    if (seconds < 1.5) return "1 s";
    if (seconds < 90) return fmt::format("{:.0f} s", seconds);
    return fmt::format("{:.0f} min", seconds / 60);
}

}  // namespace

int TurnView::run() {
    const bool colour = s_.options.stdout_tty;
    const int columns = s_.word_wrap && colour && s_.terminal.editing() ? s_.columns() : 0;
    AnswerText text(columns, colour ? s_.dim_on : "", colour ? s_.dim_off : "");
    // An answer that goes on is shown from where it stopped.
    shown_ = s_.chat.view().answer.size();
    int deadly = 0;
    Clock::time_point give_up = Clock::time_point::max();
    while (s_.chat.busy() && Clock::now() < give_up) {
        const InputLine::Watched seen = input_.watch(s_.chat.event_fd(), kWaitMs);
        if (seen.resized && columns > 0) text.set_columns(s_.columns());
        if (seen.signal != 0 && deadly == 0) {
            deadly = seen.signal;
            give_up = Clock::now() + kPatience;
        }
        if ((seen.stop || deadly != 0) && !stopping_) {
            stopping_ = true;
            s_.chat.stop();
        }
        s_.chat.pump(0);
        tell_notes(text);
        show_new_text(text);
        if (!any_text_) show_progress();
    }
    clear_progress();
    show_new_text(text);
    write_answer(text.finish());
    tell_notes(text);
    if (deadly == 0) tell_end();
    return deadly;
}

void TurnView::write_answer(std::string_view bytes) {
    if (s_.options.stdout_tty) {
        s_.terminal.write(bytes);
        return;
    }
    while (!bytes.empty()) {
        const ssize_t n = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
        if (n < 0 && errno != EINTR) return;
        if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    }
}

void TurnView::show_new_text(AnswerText& text) {
    const std::string& answer = s_.chat.view().answer;
    if (answer.size() <= shown_) return;
    const std::string out = text.push(std::string_view(answer).substr(shown_));
    shown_ = answer.size();
    if (out.empty()) return;
    clear_progress();
    any_text_ = true;
    write_answer(out);
}

void TurnView::tell_notes(AnswerText& text) {
    for (const std::string& note : s_.chat.take_notes()) {
        if (s_.options.quiet) continue;
        clear_progress();
        if (any_text_ && s_.chat.busy()) write_answer(text.finish());
        s_.say_dim(note);
    }
}

std::string TurnView::progress_text() const {
    const ViewState& view = s_.chat.view();
    if (stopping_) return "stopping";
    switch (view.phase) {
        case Phase::queued:
            return view.queued_reason.empty() ? "waiting" : view.queued_reason;
        case Phase::loading:
            return "loading " + loading_name(view);
        case Phase::prefill: {
            const int todo = view.prefill_total - view.cached_tokens;
            const int done = std::max(view.prefill_done - view.cached_tokens, 0);
            if (todo <= 0) return "thinking";
            std::string out = fmt::format("reading {} tokens  {} %", grouped(todo),
                                          std::min(100, 100 * done / todo));
            const double seconds =
                std::chrono::duration<double>(Clock::now() - prefill_begin_).count();
            const int since = view.prefill_done - prefill_first_;
            if (since > 0 && seconds > 0.5) {
                const double left = seconds * (view.prefill_total - view.prefill_done) / since;
                out += fmt::format("  {} left", duration(left));
            }
            return out;
        }
        case Phase::decoding:
        case Phase::idle:
            break;
    }
    return "";
}

void TurnView::show_progress() {
    const ViewState& view = s_.chat.view();
    const auto now = Clock::now();
    if (view.phase == Phase::prefill && prefill_first_ < 0) {
        prefill_first_ = view.prefill_done;
        prefill_begin_ = now;
    }
    if (s_.options.quiet || now - begin_ < kProgressDelay) return;
    const std::string text = progress_text();
    if (text.empty()) return;
    if (!s_.terminal.editing()) {
        // A screen reader gets one sentence for each event, not a moving line.
        if (view.phase == told_phase_ || view.phase == Phase::prefill) return;
        told_phase_ = view.phase;
        s_.say("(" + text + ")");
        return;
    }
    if (progress_shown_ && now - last_frame_ < kFrame) return;
    last_frame_ = now;
    const std::string line =
        clip(fmt::format("{} {}", kSpinner[frame_++ % 10], text), s_.columns() - 1);
    s_.terminal.write("\r" + s_.dim_on + line + s_.dim_off + "\x1b[K");
    progress_shown_ = true;
}

void TurnView::clear_progress() {
    if (progress_shown_) s_.terminal.write("\r\x1b[K");
    progress_shown_ = false;
}

void TurnView::tell_end() {
    const ViewState& view = s_.chat.view();
    if (!view.last) return;
    const TurnResult& last = *view.last;
    if (last.error) {
        s_.say("Error: " + last.error->what + (last.error->what.ends_with('.') ? "" : "."));
        s_.say_dim("The question is kept; /regen asks again.");
        return;
    }
    if (last.reason == FinishReason::stopped) {
        s_.say_dim(any_text_ ? "(stopped; what was written is kept, /continue goes on)"
                             : "(stopped before the first word; /regen asks again)");
    } else if (last.reason == FinishReason::length) {
        s_.say_dim(last.stats.context_used >= last.stats.context_tokens
                       ? "(the context is full: /clear or /new begins another)"
                       : "(cut at max_tokens; /continue goes on)");
    } else if (!any_text_) {
        s_.say_dim("(the answer is empty)");
    }
    if (s_.show_stats) s_.say_dim(stats_line(s_));
}

}  // namespace hearth::repl
