#include "engine/text/tokenizer.h"

#include <algorithm>

#include "engine/text/token_text.h"
#include "engine/text/tokenizer_impl.h"

namespace hearth {
namespace {

/// A stretch of template output or text, and whether control tokens may be found in it.
struct Range {
    std::size_t begin = 0, end = 0;
    bool control = false;
};

/// Appends the ids of stretches of text one after the other.
class Encoding {
  public:
    Encoding(const Tokenizer::Impl& impl, std::vector<TokenId>& out) : impl_(impl), out_(out) {}

    /// Control tokens are found inside single control ranges; what is between them is one run.
    void block(std::string_view text, const std::vector<Range>& ranges) {
        std::size_t run_begin = 0;
        for (const Range& range : ranges) {
            if (!range.control) continue;
            const std::string_view visible = text.substr(0, range.end);
            for (std::size_t at = range.begin; at < range.end;) {
                const auto match = impl_.all_special.longest_at(visible, at);
                if (match.length_bytes > 0 && impl_.is_control(match.id)) {
                    run(text.substr(run_begin, at - run_begin));
                    out_.push_back(match.id);
                    at_start_ = true;
                    run_begin = at + match.length_bytes;
                }
                at += std::max<std::size_t>(match.length_bytes, 1);
            }
        }
        run(text.substr(run_begin));
    }

    void verbatim(const std::vector<TokenId>& ids) {
        if (ids.empty()) return;
        out_.insert(out_.end(), ids.begin(), ids.end());
        at_start_ = impl_.is_control(ids.back());
    }

  private:
    /// Text between control tokens: user-defined tokens, and what is between those.
    void run(std::string_view text) {
        if (text.empty()) return;
        std::string prefixed;
        if (impl_.space_prefix && at_start_) {
            prefixed.append(" ").append(text);
            text = prefixed;
        }
        at_start_ = false;
        std::size_t begin = 0;
        for (std::size_t at = 0; !impl_.user_defined.empty() && at < text.size();) {
            const auto match = impl_.user_defined.longest_at(text, at);
            if (match.length_bytes == 0) {
                ++at;
                continue;
            }
            plain(text.substr(begin, at - begin));
            out_.push_back(match.id);
            begin = at += match.length_bytes;
        }
        plain(text.substr(begin));
    }

    void plain(std::string_view text) {
        if (!text.empty()) impl_.encoder->encode(text, out_);
    }

    const Tokenizer::Impl& impl_;
    std::vector<TokenId>& out_;
    bool at_start_ = true;  ///< at the text's start or right after a control token
};

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool parse_special) const {
    std::vector<TokenId> out;
    Encoding(*impl_, out).block(text, {{0, text.size(), parse_special}});
    return out;
}

std::vector<TokenId> Tokenizer::encode(std::span<const Segment> segments) const {
    std::vector<TokenId> out;
    Encoding encoding(*impl_, out);
    std::string text;
    std::vector<Range> ranges;
    const auto flush = [&] {
        encoding.block(text, ranges);
        text.clear();
        ranges.clear();
    };
    for (const Segment& segment : segments) {
        if (segment.origin == Segment::Origin::ids) {
            flush();
            encoding.verbatim(segment.ids);
            continue;
        }
        const std::size_t begin = text.size();
        text += segment.text;
        ranges.push_back({begin, text.size(), segment.origin == Segment::Origin::control});
    }
    flush();
    return out;
}

std::vector<TokenId> Tokenizer::with_bos(std::vector<TokenId> ids) const {
    if (!impl_->wants_bos) return ids;
    const TokenId bos = *impl_->vocabulary.bos;
    if (ids.empty() || ids.front() != bos) ids.insert(ids.begin(), bos);
    return ids;
}

std::string Tokenizer::piece(TokenId id, bool render_special) const {
    if (!impl_->in_range(id)) return {};
    const std::string& text = impl_->vocabulary.tokens[static_cast<std::size_t>(id)];
    switch (impl_->type(id)) {
        case TokenType::control:
        case TokenType::unknown:
            return render_special ? text : std::string();
        case TokenType::byte:
            return std::string(1, static_cast<char>(byte_of_token(text).value_or(0)));
        case TokenType::normal:
        case TokenType::unused:
        case TokenType::user_defined:
            break;
    }
    return impl_->encoder->bytes(text, impl_->type(id));
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool render_special) const {
    std::string out;
    bool strip = impl_->space_prefix;
    for (const TokenId id : ids) {
        const std::string text = piece(id, render_special);
        const bool first_text = strip && !text.empty() && !impl_->is_control(id);
        out += first_text && text[0] == ' ' ? text.substr(1) : text;
        if (first_text) strip = false;
    }
    return out;
}

int Tokenizer::vocab_size() const { return static_cast<int>(impl_->types.size()); }
const Vocabulary& Tokenizer::vocabulary() const { return impl_->vocabulary; }
bool Tokenizer::is_control(TokenId id) const { return impl_->is_control(id); }
bool Tokenizer::is_eog(TokenId id) const {
    return std::binary_search(impl_->eog.begin(), impl_->eog.end(), id);
}
const std::vector<TokenId>& Tokenizer::eog_ids() const { return impl_->eog; }
std::optional<TokenId> Tokenizer::find(std::string_view token_text) const {
    const TokenId id = impl_->ids.find(token_text);
    return id < 0 ? std::nullopt : std::optional<TokenId>(id);
}
bool Tokenizer::wants_bos() const { return impl_->wants_bos; }
const std::string& Tokenizer::hash() const { return impl_->hash; }
const std::vector<std::string>& Tokenizer::warnings() const { return impl_->warnings; }

}  // namespace hearth
