#include "engine/text/chat_template.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/text/builtin_templates.h"
#include "engine/text/jinja/clock.h"
#include "engine/text/jinja/json.h"
#include "engine/text/jinja/template.h"

namespace hearth {
namespace {

using jinja::Value;

/// The clock of render_json, so that what it prints can be compared.
constexpr std::string_view kFixedTime = "2024-07-26 09:05:03";

/// A role is a word that the program chose, not something typed; templates build markers around it
/// ('<|' + role + '|>'), so the known ones count as the template's own. Others stay data.
jinja::Origin role_origin(std::string_view role) {
    constexpr std::array<std::string_view, 5> kKnown = {"system", "user", "assistant", "tool",
                                                        "developer"};
    const bool known = std::find(kKnown.begin(), kKnown.end(), role) != kKnown.end();
    return known ? jinja::kLiteral : jinja::kInput;
}

Value message_value(const ChatMessage& message, jinja::Origin origin) {
    auto dict = std::make_shared<jinja::Dict>();
    dict->set(Value::string("role"), Value::string(message.role, role_origin(message.role)));
    dict->set(Value::string("content"), Value::string(message.content, origin));
    return Value::object(jinja::Kind::dict, std::move(dict));
}

jinja::Context make_context(const std::vector<ChatMessage>& messages,
                            const RenderOptions& options) {
    std::vector<Value> values;
    values.reserve(messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
        values.push_back(message_value(messages[i], static_cast<jinja::Origin>(i)));
    }
    jinja::Context context;
    auto& variables = context.variables;
    variables.emplace_back("messages", Value::list(std::move(values)));
    variables.emplace_back("add_generation_prompt", Value::boolean(options.add_generation_prompt));
    variables.emplace_back("tools", Value::none());
    variables.emplace_back("documents", Value::none());
    // Spelled by the vocabulary, not by a user: these two are control.
    variables.emplace_back("bos_token", Value::string(options.bos_token));
    variables.emplace_back("eos_token", Value::string(options.eos_token));
    if (options.enable_thinking) {
        variables.emplace_back("enable_thinking", Value::boolean(*options.enable_thinking));
        variables.emplace_back("thinking", Value::boolean(*options.enable_thinking));
    }
    const auto date = jinja::parse_time(options.date);
    context.now = date ? *date : jinja::local_time();
    return context;
}

/// Output ranges to segments. A stored turn is used where its whole content stands unchanged.
std::vector<Segment> to_segments(const jinja::Text& text,
                                 const std::vector<ChatMessage>& messages) {
    std::vector<Segment> segments;
    std::size_t begin = 0;
    for (const jinja::Run& run : text.runs()) {
        const std::string_view bytes = text.view().substr(begin, run.end - begin);
        begin = run.end;
        Segment segment;
        segment.origin =
            run.origin == jinja::kLiteral ? Segment::Origin::control : Segment::Origin::text;
        if (run.origin >= 0) {
            const ChatMessage& message = messages[static_cast<std::size_t>(run.origin)];
            const bool whole = run.offset == 0 && bytes.size() == message.content.size();
            if (whole && !message.token_ids.empty()) {
                segment.origin = Segment::Origin::ids;
                segment.ids = message.token_ids;
            }
        }
        const bool joins = !segments.empty() && segments.back().origin == segment.origin &&
                           segment.origin != Segment::Origin::ids;
        if (joins) {
            segments.back().text += bytes;
        } else {
            segment.text = bytes;
            segments.push_back(std::move(segment));
        }
    }
    return segments;
}

std::string_view kind_name(jinja::Failure::Kind kind) {
    switch (kind) {
        case jinja::Failure::Kind::syntax:
            return "syntax";
        case jinja::Failure::Kind::raised:
            return "raised";
        case jinja::Failure::Kind::runtime:
            return "runtime";
    }
    return "runtime";
}

/// What a person reads: raise_exception's text as it is, everything else with its line.
std::string failure_text(const jinja::Failure& failure) {
    if (failure.kind == jinja::Failure::Kind::raised) return failure.message;
    return fmt::format("line {}: {}", failure.line, failure.message);
}

}  // namespace

struct ChatTemplate::Impl {
    std::string name;
    std::string source;
    jinja::Template compiled;
};

Result<ChatTemplate> ChatTemplate::compile(std::string source, std::string name) {
    auto compiled = jinja::Template::compile(source);
    if (!compiled) {
        return fail(Errc::failed, "chat template '{}' cannot be used: {}", name,
                    failure_text(compiled.error()));
    }
    ChatTemplate result;
    result.impl_ = std::make_shared<const Impl>(
        Impl{std::move(name), std::move(source), std::move(*compiled)});
    return result;
}

Result<ChatTemplate> ChatTemplate::named(std::string_view name) {
    for (const BuiltinTemplate& known : builtin_templates()) {
        if (known.name == name) return compile(std::string(known.source), std::string(name));
    }
    return fail(Errc::usage, "there is no built-in chat template '{}'; there are {}", name,
                fmt::join(names(), ", "));
}

std::vector<std::string> ChatTemplate::names() {
    std::vector<std::string> names;
    for (const BuiltinTemplate& known : builtin_templates()) names.emplace_back(known.name);
    return names;
}

std::string ChatTemplate::guess(const Tokenizer& tokenizer) {
    for (const BuiltinTemplate& known : builtin_templates()) {
        const bool all = std::all_of(
            known.markers.begin(), known.markers.end(),
            [&](std::string_view marker) { return tokenizer.find(marker).has_value(); });
        if (all) return std::string(known.name);
    }
    return {};
}

Result<std::vector<Segment>> ChatTemplate::render(const std::vector<ChatMessage>& messages,
                                                  const RenderOptions& options) const {
    auto text = impl_->compiled.render(make_context(messages, options));
    if (!text) {
        const jinja::Failure& failure = text.error();
        if (failure.kind == jinja::Failure::Kind::raised) {
            return fail(Errc::failed, "the chat template '{}' refuses this conversation: {}",
                        impl_->name, failure.message);
        }
        return fail(Errc::failed, "chat template '{}' failed: {}", impl_->name,
                    failure_text(failure));
    }
    return to_segments(*text, messages);
}

ChatTemplate::JsonRender ChatTemplate::render_json(std::string_view source,
                                                   const nlohmann::ordered_json& context_json) {
    JsonRender result;
    const auto refuse = [&result](const jinja::Failure& failure) {
        result.error = failure_text(failure);
        result.kind = kind_name(failure.kind);
        return result;
    };
    const auto compiled = jinja::Template::compile(source);
    if (!compiled) return refuse(compiled.error());
    const auto value = jinja::value_from_json(context_json);
    if (!value || !value->is(jinja::Kind::dict)) {
        return refuse({jinja::Failure::Kind::runtime,
                       "the context must be a JSON object, nested at most 100 deep", 0});
    }
    jinja::Context context;
    context.now = *jinja::parse_time(kFixedTime);
    for (const auto& [key, item] : value->dict().items()) {
        // A string in place of the function sets its clock.
        if (key.view() == "strftime_now") {
            const auto time =
                item.is(jinja::Kind::string) ? jinja::parse_time(item.view()) : std::nullopt;
            if (time) context.now = *time;
            continue;
        }
        context.variables.emplace_back(key.view(), item);
    }
    const auto text = compiled->render(context);
    if (!text) return refuse(text.error());
    result.text = text->view();
    return result;
}

const std::string& ChatTemplate::name() const { return impl_->name; }
const std::string& ChatTemplate::source() const { return impl_->source; }
bool ChatTemplate::uses_date() const { return impl_->compiled.mentions("strftime_now"); }

}  // namespace hearth
