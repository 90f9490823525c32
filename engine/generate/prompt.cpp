#include "engine/generate/prompt.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hearth {

namespace {

std::string built_in_names() { return fmt::format("{}", fmt::join(ChatTemplate::names(), ", ")); }

/// Request::chat_template: the name of a built-in one, or source.
Result<ChatTemplate> requested_template(const std::string& text) {
    const auto names = ChatTemplate::names();
    if (std::find(names.begin(), names.end(), text) != names.end()) {
        return ChatTemplate::named(text);
    }
    if (text.find('{') == std::string::npos) {
        return fail(Errc::usage,
                    "'{}' is neither the name of a chat template nor template source; the names "
                    "are {}",
                    text.substr(0, 60), built_in_names());
    }
    return ChatTemplate::compile(text, "the given template");
}

std::string spelling(const Tokenizer& tokenizer, std::optional<TokenId> id) {
    return id ? tokenizer.piece(*id, /*render_special=*/true) : std::string();
}

/// Stored ids count only for the tokenizer that made them.
ChatMessage to_chat_message(const TurnMessage& m, const Tokenizer& tokenizer) {
    ChatMessage out{m.role, m.content, {}};
    const auto in_range = [&](std::int32_t id) { return id >= 0 && id < tokenizer.vocab_size(); };
    if (m.role == "assistant" && m.tokenizer_hash == tokenizer.hash() &&
        std::all_of(m.token_ids.begin(), m.token_ids.end(), in_range)) {
        out.token_ids = m.token_ids;
    }
    return out;
}

/// The last turn as it stood when it was generated: what follows the generation prompt. So no end
/// of turn has to be cut off, and the prefix is the one that was computed then.
Segment continued_turn(const ChatMessage& last) {
    Segment s;
    s.origin = last.token_ids.empty() ? Segment::Origin::text : Segment::Origin::ids;
    if (last.token_ids.empty())
        s.text = last.content;
    else
        s.ids = last.token_ids;
    return s;
}

Result<std::vector<std::int32_t>> check_raw(const Request& request, const Model& model) {
    for (const std::int32_t id : request.raw_ids) {
        if (id < 0 || id >= model.config.vocab_size) {
            return fail(Errc::usage, "the token id {} does not exist; this model's go from 0 to {}",
                        id, model.config.vocab_size - 1);
        }
    }
    return request.raw_ids;
}

}  // namespace

ModelTemplate model_template(const Model& model) {
    ModelTemplate t;
    if (model.chat_template.empty()) {
        t.why_not = fmt::format(
            "{} has no chat template (it may be a base model); choose one with --template chatml "
            "(there are {}), or give the text as it is with --raw",
            model.config.name, built_in_names());
        return t;
    }
    auto compiled = ChatTemplate::compile(model.chat_template, "the model's template");
    if (compiled) {
        t.compiled = std::move(*compiled);
        return t;
    }
    const std::string guess = ChatTemplate::guess(*model.tokenizer);
    if (!guess.empty()) {
        if (auto named = ChatTemplate::named(guess)) {
            t.compiled = std::move(*named);
            t.note = fmt::format(
                "the model's own chat template cannot be used ({}); the built-in '{}' stands in",
                compiled.error().what, guess);
            return t;
        }
    }
    t.why_not = fmt::format(
        "the chat template of {} cannot be used ({}); choose one with --template chatml (there are "
        "{})",
        model.config.name, compiled.error().what, built_in_names());
    return t;
}

Result<std::vector<std::int32_t>> make_prompt(const Request& request, const Model& model,
                                              const ModelTemplate& own) {
    if (!request.raw_ids.empty()) return check_raw(request, model);
    if (request.messages.empty()) {
        return fail(Errc::usage, "there is no message to answer; send at least one");
    }
    const Tokenizer& tokenizer = *model.tokenizer;
    std::vector<ChatMessage> messages;
    for (const TurnMessage& m : request.messages) {
        messages.push_back(to_chat_message(m, tokenizer));
    }
    std::optional<ChatMessage> last;
    if (request.continue_last) {
        if (messages.back().role != "assistant") {
            return fail(Errc::usage, "only an answer can be continued; the last message is from {}",
                        messages.back().role);
        }
        last = std::move(messages.back());
        messages.pop_back();
    }
    const ChatTemplate* chat_template = own.compiled ? &*own.compiled : nullptr;
    std::optional<ChatTemplate> requested;
    if (!request.chat_template.empty()) {
        HEARTH_TRY(requested, requested_template(request.chat_template));
        chat_template = &*requested;
    }
    if (chat_template == nullptr) return fail(Errc::usage, "{}", own.why_not);

    RenderOptions options;
    options.bos_token = spelling(tokenizer, tokenizer.vocabulary().bos);
    options.eos_token = spelling(tokenizer, tokenizer.vocabulary().eos);
    HEARTH_TRY(std::vector<Segment> segments, chat_template->render(messages, options));
    if (last) segments.push_back(continued_turn(*last));
    auto ids = tokenizer.with_bos(tokenizer.encode(segments));
    if (ids.empty()) {
        return fail(Errc::failed, "the chat template {} makes an empty prompt of these messages",
                    chat_template->name());
    }
    return ids;
}

}  // namespace hearth
