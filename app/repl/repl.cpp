#include "app/repl/repl.h"

#include <csignal>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "app/chat_controller.h"
#include "app/options.h"
#include "app/repl/command_table.h"
#include "app/repl/commands.h"
#include "app/repl/input_history.h"
#include "app/repl/input_line.h"
#include "app/repl/session.h"
#include "app/repl/terminal.h"
#include "app/repl/turn_view.h"

namespace hearth {
namespace repl {
namespace {

constexpr int kInterruptedCode = 130;

/// Escape sequences are understood: raw mode, colours, moving the cursor.
bool can_edit(const Options& options) {
    const bool screen = options.stdout_tty || options.stderr_tty;
    return options.stdin_tty && screen && options.term != "dumb" && !options.term.empty();
}

class Loop {
  public:
    Loop(ChatController& chat, const Options& options)
        : terminal_(Terminal::open(can_edit(options),
                                   options.stdout_tty ? STDOUT_FILENO : STDERR_FILENO)),
          s_{chat, options, *terminal_, history_},
          input_(
              *terminal_, style(options), &history_.entries(),
              [this](std::string_view text, std::size_t cursor) {
                  return complete_command(s_, text, cursor);
              },
              options.editor) {
        const bool colour = options.color && terminal_->editing();
        s_.dim_on = colour ? "\x1b[90m" : "";
        s_.dim_off = colour ? "\x1b[0m" : "";
        s_.show_stats = options.stats;
        input_.watch_for_news([this] { return changed_elsewhere(); }, [this] { tell_change(); });
    }

    int run() {
        greet();
        while (!s_.leave) {
            if (changed_elsewhere()) tell_change();
            tell_notes();
            const InputLine::Read read = next_line();
            switch (read.kind) {
                case InputLine::Kind::line:
                    hinted_ = false;
                    take_line(read);
                    break;
                case InputLine::Kind::interrupted:
                    interrupted(read.touched);
                    break;
                case InputLine::Kind::end:
                    return 0;
                case InputLine::Kind::killed:
                    return 128 + read.signal;
            }
        }
        return *s_.leave;
    }

  private:
    static InputStyle style(const Options& options) {
        InputStyle out;
        out.placeholder = "Send a message (/? for help)";
        if (options.color) {
            out.dim_on = "\x1b[90m";
            out.dim_off = "\x1b[0m";
        }
        return out;
    }

    void greet() {
        const std::string path = s_.options.no_log ? "" : s_.options.paths.input_history();
        if (auto opened = history_.open(path); !opened) s_.say_dim(opened.error().what);
        if (!s_.chat.view().messages.empty()) show_where_it_stood(s_);
        for (const std::string& name : s_.chat.view().attachments) {
            s_.say_dim("Goes before the first message: " + name);
        }
    }

    /// Another window may have gone on with this chat.
    bool changed_elsewhere() {
        const std::size_t n = s_.chat.view().messages.size();
        const MessageId leaf = n == 0 ? 0 : s_.chat.view().messages.back().id;
        if (s_.editing != 0 || !s_.chat.refresh()) return false;
        const auto& messages = s_.chat.view().messages;
        return messages.empty() ? leaf != 0 : messages.back().id != leaf;
    }

    void tell_change() {
        s_.say_dim("This chat was changed elsewhere meanwhile:");
        show_where_it_stood(s_);
    }

    void tell_notes() {
        for (const std::string& note : s_.chat.take_notes()) {
            if (!s_.options.quiet) s_.say_dim(note);
        }
    }

    InputLine::Read next_line() {
        const std::string text = std::exchange(s_.next_text, "");
        const bool literal = std::exchange(s_.next_literal, false);
        return input_.read(text, literal);
    }

    void interrupted(bool touched) {
        s_.editing = 0;
        if (hinted_ && !touched) {
            s_.leave = kInterruptedCode;
            return;
        }
        hinted_ = true;
        s_.say_dim("(Ctrl+C again leaves; so do Ctrl+D and /bye)");
    }

    void take_line(const InputLine::Read& read) {
        TypedLine line = classify(read.text, read.literal);
        const std::string asked = std::exchange(asked_about_, "");
        // Asked about and not changed: it is meant as it stands.
        if (line.kind == TypedLine::Kind::path && line.text == asked) {
            line.kind = TypedLine::Kind::message;
        }
        remember(line);
        switch (line.kind) {
            case TypedLine::Kind::empty:
                return;
            case TypedLine::Kind::message:
                send(line.text);
                return;
            case TypedLine::Kind::command:
                command(line);
                return;
            case TypedLine::Kind::later:
                s_.say(fmt::format("{} is not there yet.", line.word));
                return;
            case TypedLine::Kind::path:
                s_.say_dim(
                    fmt::format("{} is no command. Enter sends the line as a message.", line.word));
                asked_about_ = line.text;
                s_.next_text = read.text;
                return;
            case TypedLine::Kind::unknown:
                unknown(line);
                s_.next_text = read.text;
                return;
        }
    }

    /// A message that looks like a command is remembered so that it stays a message.
    void remember(const TypedLine& line) {
        if (line.kind == TypedLine::Kind::unknown) return;
        const bool is_message = line.kind == TypedLine::Kind::message;
        const bool escape = is_message && !line.text.empty() && line.text[0] == '/';
        if (auto added = history_.add(escape ? "/" + line.text : line.text); !added) {
            s_.say_dim(added.error().what);
        }
    }

    void unknown(const TypedLine& line) {
        std::string out = fmt::format("There is no command {}.", line.word);
        const auto similar = similar_commands(std::string_view(line.word).substr(1));
        if (!similar.empty()) {
            out += " Did you mean ";
            for (std::size_t i = 0; i < similar.size(); ++i) {
                if (i > 0) out += i + 1 == similar.size() ? " or " : ", ";
                out += similar[i];
            }
            out += "?";
        } else {
            out += " /help lists them.";
        }
        s_.say(out);
        s_.say_dim(fmt::format("To send it as text, write /{}", line.word));
    }

    void command(const TypedLine& line) {
        s_.editing = 0;
        if (auto done = line.command->run(s_, line.args); !done) say_error(done.error());
        if (std::exchange(s_.turn_started, false)) show_turn();
    }

    void send(const std::string& text) {
        const MessageId edited = std::exchange(s_.editing, 0);
        const auto sent = edited != 0 ? s_.chat.edit(edited, text) : s_.chat.send(text);
        if (!sent) {
            s_.editing = edited;
            say_error(sent.error());
            s_.next_text = text;  // nothing is lost
            s_.next_literal = true;
            return;
        }
        show_turn();
    }

    void show_turn() {
        const int signal = TurnView(s_, input_).run();
        if (signal != 0) s_.leave = 128 + signal;
        s_.terminal.write("\n");
    }

    void say_error(const Error& error) {
        const bool ends = !error.what.empty() && std::string_view(".!?\n").find(
                                                     error.what.back()) != std::string_view::npos;
        s_.say("Error: " + error.what + (ends ? "" : "."));
    }

    InputHistory history_;
    std::unique_ptr<Terminal> terminal_;
    ReplSession s_;
    InputLine input_;
    bool hinted_ = false;      ///< the last thing was Ctrl+C on an empty line
    std::string asked_about_;  ///< a line like /usr/bin that Enter sends when it is unchanged
};

}  // namespace
}  // namespace repl

int run_repl(ChatController& chat, const Options& options) {
    return repl::Loop(chat, options).run();
}

}  // namespace hearth
