// Chat templates: a template and what is said, both from the input. Whatever a file's template
// holds, compiling and rendering end in a text or in a sentence, within the budgets of time and
// memory, and nothing that the user wrote comes out as the template's own words.
//
// input    line 1: the user's message, or a JSON object that is the whole context; rest: the
// template.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "engine/text/chat_template.h"

using namespace hearth;

namespace {

/// A private-use character that no input of the fuzzer may hold: it marks what the user wrote.
constexpr std::string_view kMark = "\xEE\x80\x80";

void require(bool holds) {
    if (!holds) std::abort();
}

void check_json(std::string_view source, std::string_view context_text) {
    const auto context = nlohmann::ordered_json::parse(context_text, nullptr, false);
    if (!context.is_object()) return;
    const auto result = ChatTemplate::render_json(source, context);
    require(result.error.empty() == result.kind.empty() || result.kind == "raised");
}

void check_origins(const ChatTemplate& compiled, std::string_view message) {
    std::string content(kMark);
    content += message;
    content += kMark;
    const std::vector<ChatMessage> messages = {{"system", content, {}},
                                               {"user", content, {}},
                                               {"assistant", content, {1, 2, 3}},
                                               {"user", content, {}}};
    RenderOptions options;
    options.bos_token = "<s>";
    options.eos_token = "</s>";
    options.date = "2026-11-30 12:00:00";
    const auto segments = compiled.render(messages, options);
    if (!segments) {
        require(!segments.error().what.empty());
        return;
    }
    for (const Segment& segment : *segments) {
        if (segment.origin == Segment::Origin::control) {
            require(segment.text.find(kMark) == std::string::npos);
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    if (size > 20000 || input.find('\xEE') != std::string_view::npos) return 0;
    const std::string_view message = input.substr(0, input.find('\n'));
    const std::string_view source = input.substr(std::min(size, message.size() + 1));
    // "\ue000", U+E000 by number or by arithmetic would spell the mark.
    if (source.find('\\') == std::string_view::npos) {
        const auto compiled = ChatTemplate::compile(std::string(source), "fuzz");
        if (compiled) check_origins(*compiled, message);
        if (!compiled) require(!compiled.error().what.empty());
    }
    if (message.starts_with('{')) check_json(source, message);
    return 0;
}
