// /preset: system prompts and settings by name, the same ones that the window shows.

#include <fmt/format.h>

#include "app/repl/command_table.h"
#include "app/repl/session.h"

namespace hearth::repl {
namespace {

constexpr Kept kBoth[] = {Kept::prompt, Kept::preset};

const char* word_of(Kept kind) { return kind == Kept::prompt ? "prompt" : "settings"; }

Outcome list(ReplSession& s) {
    bool any = false;
    for (const Kept kind : kBoth) {
        HEARTH_TRY(const auto all, s.chat.named(kind));
        for (const NamedText& one : all) {
            any = true;
            std::string first = one.text.substr(0, one.text.find('\n'));
            s.say(fmt::format("{}  ({}) {}", one.name, word_of(kind), first));
        }
    }
    s.say_dim(any ? "/preset NAME uses one in this chat; /preset rm NAME forgets it."
                  : "Nothing is kept yet. /preset save NAME keeps this chat's system prompt and "
                    "settings.");
    return {};
}

/// Does it for the prompt and the settings of that name; an error when there is neither.
template <typename Do>
Outcome for_both(ReplSession& s, const std::string& name, const char* done, Do what) {
    bool any = false;
    for (const Kept kind : kBoth) {
        HEARTH_TRY(const auto all, s.chat.named(kind));
        for (const NamedText& one : all) {
            if (one.name != name) continue;
            HEARTH_TRY_VOID(what(kind));
            s.say_dim(fmt::format("{} ({}) {}.", name, word_of(kind), done));
            any = true;
        }
    }
    if (any) return {};
    return fail(Errc::usage, "nothing is kept as '{}'; /preset lists what is", name);
}

}  // namespace

Outcome command_preset(ReplSession& s, const std::string& args) {
    if (args.empty()) return list(s);
    const Split split = split_word(args);
    if (split.word == "save" && !split.rest.empty()) {
        HEARTH_TRY_VOID(s.chat.save_named(Kept::preset, split.rest));
        if (!s.chat.system_prompt().empty()) {
            HEARTH_TRY_VOID(s.chat.save_named(Kept::prompt, split.rest));
        }
        s.say_dim(fmt::format("Kept as {}.", split.rest));
        return {};
    }
    if (split.word == "rm" && !split.rest.empty()) {
        return for_both(s, split.rest, "is forgotten",
                        [&](Kept kind) { return s.chat.remove_named(kind, split.rest); });
    }
    return for_both(s, args, "is in force",
                    [&](Kept kind) { return s.chat.use_named(kind, args); });
}

}  // namespace hearth::repl
