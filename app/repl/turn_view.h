#pragma once
// TurnView: shows one answer while it is written: progress, text, what happened at the end; and
// listens for Ctrl+C. Draws from ViewState only.

#include <chrono>
#include <string>

#include "app/repl/input_line.h"
#include "app/repl/session.h"
#include "app/repl/word_wrap.h"

namespace hearth::repl {

class TurnView {
  public:
    TurnView(ReplSession& session, InputLine& input) : s_(session), input_(input) {}

    /// Pumps until the turn is over. Returns 0, or the signal that ends the program.
    int run();

  private:
    using Clock = std::chrono::steady_clock;

    void write_answer(std::string_view bytes);
    void show_new_text(AnswerText& text);
    void tell_notes(AnswerText& text);
    void show_progress();
    void clear_progress();
    std::string progress_text() const;
    void tell_end();

    ReplSession& s_;
    InputLine& input_;
    std::size_t shown_ = 0;  ///< bytes of the answer
    bool any_text_ = false;
    bool progress_shown_ = false;
    bool stopping_ = false;
    int frame_ = 0;
    Phase told_phase_ = Phase::idle;
    Clock::time_point begin_ = Clock::now(), last_frame_, prefill_begin_;
    int prefill_first_ = -1;  ///< tokens done when the prefill was first seen
};

}  // namespace hearth::repl
