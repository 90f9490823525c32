#pragma once
// ChatTemplate: messages -> segments through the model's own Jinja template. Every range of the
// output knows whether the template or the caller wrote it, so user text is never control.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/base/result.h"
#include "engine/text/tokenizer.h"

namespace hearth {

struct ChatMessage {
    std::string role;  ///< "system", "user", "assistant", "tool"
    std::string content;
    /// Stored ids of an assistant turn, valid for the tokenizer in use; empty = encode the text.
    /// Used verbatim where the template prints the whole content unchanged.
    std::vector<TokenId> token_ids;
};

struct RenderOptions {
    bool add_generation_prompt = true;
    std::string bos_token, eos_token;
    std::string date;  ///< strftime_now's clock "YYYY-MM-DD HH:MM:SS"; empty = now
    std::optional<bool> enable_thinking;
};

class ChatTemplate {
  public:
    /// Compiles. Errors name line and what was met (a syntax error, a feature that is missing).
    static Result<ChatTemplate> compile(std::string source, std::string name);
    /// Built-in templates for models without one: chatml, llama3, gemma, mistral, phi3, zephyr.
    static Result<ChatTemplate> named(std::string_view name);
    static std::vector<std::string> names();
    /// The built-in whose markers `vocabulary_texts` knows (<|im_start|> -> chatml …), for models
    /// whose template fails; empty when none fits.
    static std::string guess(const Tokenizer& tokenizer);

    /// Messages to segments; a raise_exception is an error with its text. Budgeted in steps,
    /// output and depth. A role sequence that the template cannot take is an error, not a cut.
    Result<std::vector<Segment>> render(const std::vector<ChatMessage>& messages,
                                        const RenderOptions& options) const;
    /// For tests and `inspect template`: any JSON object as context, text out.
    /// On error `what` is the message; `kind` is "syntax", "raised" or "runtime".
    struct JsonRender {
        std::string text;
        std::string error;
        std::string kind;
    };
    static JsonRender render_json(std::string_view source, const nlohmann::ordered_json& context);

    const std::string& name() const;
    const std::string& source() const;
    bool uses_date() const;  ///< prints the clock: prefix reuse suffers, said to the user

  private:
    struct Impl;
    std::shared_ptr<const Impl> impl_;
};

}  // namespace hearth
