#pragma once
// The functions of the command table, by file: chat, branches, models and settings, insight.

#include <string>

#include "engine/base/result.h"

namespace hearth::repl {

struct ReplSession;
using Outcome = Result<void>;

// commands_chat.cpp
Outcome command_clear(ReplSession& s, const std::string& args);
Outcome command_new(ReplSession& s, const std::string& args);
Outcome command_history(ReplSession& s, const std::string& args);
Outcome command_resume(ReplSession& s, const std::string& args);
Outcome command_search(ReplSession& s, const std::string& args);
Outcome command_title(ReplSession& s, const std::string& args);
Outcome command_delete(ReplSession& s, const std::string& args);
Outcome command_save(ReplSession& s, const std::string& args);
Outcome command_regen(ReplSession& s, const std::string& args);
Outcome command_continue(ReplSession& s, const std::string& args);
Outcome command_undo(ReplSession& s, const std::string& args);
Outcome command_copy(ReplSession& s, const std::string& args);

// commands_branch.cpp
Outcome command_edit(ReplSession& s, const std::string& args);
Outcome command_branch(ReplSession& s, const std::string& args);
Outcome command_fork(ReplSession& s, const std::string& args);
Outcome command_versions(ReplSession& s, const std::string& args);
Outcome command_switch(ReplSession& s, const std::string& args);
Outcome command_tree(ReplSession& s, const std::string& args);
Outcome command_pin(ReplSession& s, const std::string& args);
Outcome command_archive(ReplSession& s, const std::string& args);
Outcome command_export(ReplSession& s, const std::string& args);
Outcome command_import(ReplSession& s, const std::string& args);

// commands_model.cpp
Outcome command_model(ReplSession& s, const std::string& args);
Outcome command_list(ReplSession& s, const std::string& args);
Outcome command_ps(ReplSession& s, const std::string& args);
Outcome command_show(ReplSession& s, const std::string& args);
Outcome command_set(ReplSession& s, const std::string& args);
Outcome command_system(ReplSession& s, const std::string& args);
Outcome command_preset(ReplSession& s, const std::string& args);
Outcome command_context(ReplSession& s, const std::string& args);
Outcome command_stats(ReplSession& s, const std::string& args);
Outcome command_draft(ReplSession& s, const std::string& args);
Outcome command_file(ReplSession& s, const std::string& args);

/// The answers of the last line of a turn: "12 tokens · 34.5 tok/s …".
std::string stats_line(const ReplSession& s);
/// The last messages of the chat in grey, so that one sees where it stood.
void show_where_it_stood(ReplSession& s);

/// First word and the rest of `args`, both without white space around.
struct Split {
    std::string word, rest;
};
Split split_word(const std::string& args);

}  // namespace hearth::repl
