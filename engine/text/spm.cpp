#include "engine/text/spm.h"

#include <algorithm>
#include <unordered_map>

#include "engine/text/token_text.h"
#include "engine/text/utf8.h"

namespace hearth {
namespace {

constexpr std::string_view kEscapedSpace = "\xE2\x96\x81";

/// A word is what lies between spaces that no piece spans. A longer one (a run without such a
/// space) is cut here: memory stays bounded, and no context holds such a run.
constexpr std::size_t kMaxWordBytes = std::size_t{1} << 20;

constexpr std::uint32_t kNone = 0xFFFFFFFFu;

/// A space is U+2581 in a vocabulary; some files keep the space.
void append_escaped(std::string& out, std::string_view text) {
    for (const char c : text) {
        if (c == ' ') {
            out += kEscapedSpace;
        } else {
            out += c;
        }
    }
}

/// Runs of spaces become one; none is left at the end, nor at the beginning unless `keep_first`.
std::string squeezed(std::string_view text, bool keep_first) {
    std::string out;
    for (const char c : text) {
        const bool first = out.empty() && !keep_first;
        if (c == ' ' && (first || (!out.empty() && out.back() == ' '))) continue;
        out += c;
    }
    if (!out.empty() && out.back() == ' ') out.pop_back();
    return out;
}

struct Symbol {
    std::uint32_t begin = 0, length = 0;  ///< bytes of the escaped word; length 0: merged away
    std::uint32_t previous = kNone, next = kNone;
    TokenId id = -1;  ///< -1: not looked up, or no piece
};

/// Two neighbours that spell a piece.
struct Candidate {
    float score = 0;
    std::uint32_t left = 0;    ///< place of the left symbol
    std::uint32_t length = 0;  ///< bytes of both together: tells whether they are still the same
    TokenId id = -1;
};

/// The heap's top is the highest score, the leftmost of equals.
bool later(const Candidate& a, const Candidate& b) {
    return a.score < b.score || (a.score == b.score && a.left > b.left);
}

}  // namespace

/// Memory of one encode() call, reused by its words. Symbols are a linked list in an array.
struct Spm::Scratch {
    std::string word;  ///< with spaces escaped
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
    /// What unused pieces were made from, as the length of the left part; views into `word`.
    std::unordered_map<std::string_view, std::size_t> left_parts;
    std::vector<std::string_view> pending;
    bool after_unknown = false;  ///< unknown characters in a row are one unknown token
};

Spm::Spm(const Vocabulary& vocabulary, std::span<const TokenType> types)
    : scores_(vocabulary.scores),
      types_(types),
      squeeze_spaces_(vocabulary.remove_extra_whitespaces.value_or(false)),
      space_prefix_(vocabulary.add_space_prefix.value_or(true)) {}

std::unique_ptr<Spm> Spm::make(const Vocabulary& vocabulary, std::span<const TokenType> types,
                               std::vector<std::string>& warnings) {
    std::unique_ptr<Spm> made(new Spm(vocabulary, types));
    TokenId unk = vocabulary.unk.value_or(-1);
    if (unk < 0) {
        const auto found = std::find(types.begin(), types.end(), TokenType::unknown);
        if (found != types.end()) unk = static_cast<TokenId>(found - types.begin());
    }
    // An unknown token that is control in the file must not come from text.
    const bool usable = unk >= 0 && types[static_cast<std::size_t>(unk)] != TokenType::control;
    if (usable) made->unk_ = unk;
    made->read_bytes(vocabulary.tokens);
    made->read_pieces(vocabulary.tokens);
    if (!made->byte_fallback_) {
        warnings.push_back(
            "the vocabulary has no tokens for single bytes: characters that it lacks are unknown");
    }
    return made;
}

void Spm::read_bytes(const std::vector<std::string>& tokens) {
    byte_ids_.fill(-1);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (types_[i] != TokenType::byte) continue;
        TokenId& id = byte_ids_[byte_of_token(tokens[i]).value_or(0)];
        if (id < 0) id = static_cast<TokenId>(i);
    }
    byte_fallback_ =
        std::all_of(byte_ids_.begin(), byte_ids_.end(), [](TokenId id) { return id >= 0; });
}

void Spm::read_pieces(const std::vector<std::string>& tokens) {
    pieces_ = TokenIndex(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const bool matchable = types_[i] == TokenType::normal || types_[i] == TokenType::unused;
        if (!matchable || tokens[i].empty() || static_cast<TokenId>(i) == unk_) continue;
        std::string_view text = tokens[i];
        if (text.find(' ') != std::string_view::npos) {
            append_escaped(escaped_.emplace_back(), text);
            text = escaped_.back();
        }
        pieces_.add(text, static_cast<TokenId>(i));
        if (types_[i] == TokenType::unused) has_unused_ = true;
        std::size_t at = text.find(kEscapedSpace, 1);
        for (; at != std::string_view::npos; at = text.find(kEscapedSpace, at + 1)) {
            if (!text.substr(0, at).ends_with(kEscapedSpace)) {
                before_space_[static_cast<unsigned char>(text[at - 1])] = true;
            }
        }
    }
}

void Spm::encode_byte(char byte, std::vector<TokenId>& out) const {
    const TokenId id = byte_ids_[static_cast<unsigned char>(byte)];
    const TokenId known = id >= 0 ? id : unk_;
    if (known >= 0) out.push_back(known);
}

void Spm::emit_unknown(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const {
    if (byte_fallback_) {
        for (const char byte : piece) encode_byte(byte, out);
        return;
    }
    if (!scratch.after_unknown && unk_ >= 0) out.push_back(unk_);
    scratch.after_unknown = true;
}

/// Ids of a symbol that is left. An unused piece falls back into what it was made from.
void Spm::emit(std::string_view piece, TokenId id, Scratch& scratch,
               std::vector<TokenId>& out) const {
    scratch.pending.assign(1, piece);
    while (!scratch.pending.empty()) {
        const std::string_view part = scratch.pending.back();
        scratch.pending.pop_back();
        if (id < 0) id = pieces_.find(part);
        const auto made =
            id >= 0 && is_unused(id) ? scratch.left_parts.find(part) : scratch.left_parts.end();
        if (made != scratch.left_parts.end()) {
            scratch.pending.push_back(part.substr(made->second));
            scratch.pending.push_back(part.substr(0, made->second));
        } else if (id >= 0) {
            out.push_back(id);
            scratch.after_unknown = false;
        } else {
            emit_unknown(part, scratch, out);
        }
        id = -1;
    }
}

void Spm::push_pair(Scratch& scratch, std::uint32_t left) const {
    const Symbol& a = scratch.symbols[left];
    if (a.next == kNone) return;
    const Symbol& b = scratch.symbols[a.next];
    const std::string_view piece =
        std::string_view(scratch.word).substr(a.begin, a.length + b.length);
    const TokenId id = pieces_.find(piece);
    if (id < 0) return;
    scratch.heap.push_back({scores_[static_cast<std::size_t>(id)], left, a.length + b.length, id});
    std::push_heap(scratch.heap.begin(), scratch.heap.end(), later);
    if (is_unused(id)) scratch.left_parts[piece] = a.length;
}

void Spm::merge_all(Scratch& scratch) const {
    std::vector<Symbol>& symbols = scratch.symbols;
    for (std::uint32_t i = 0; i + 1 < symbols.size(); ++i) push_pair(scratch, i);
    while (!scratch.heap.empty()) {
        const Candidate top = scratch.heap.front();
        std::pop_heap(scratch.heap.begin(), scratch.heap.end(), later);
        scratch.heap.pop_back();
        Symbol& left = symbols[top.left];
        if (left.length == 0 || left.next == kNone) continue;
        Symbol& right = symbols[left.next];
        if (left.length + right.length != top.length) continue;  // one of them has changed
        left.length = top.length;
        left.id = top.id;
        right.length = 0;
        left.next = right.next;
        if (left.next != kNone) symbols[left.next].previous = top.left;
        if (left.previous != kNone) push_pair(scratch, left.previous);
        push_pair(scratch, top.left);
    }
}

void Spm::encode_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const {
    scratch.word.clear();
    append_escaped(scratch.word, word);
    scratch.symbols.clear();
    scratch.heap.clear();
    scratch.left_parts.clear();
    for (std::size_t at = 0; at < scratch.word.size();) {
        const std::size_t length = std::max<std::size_t>(utf8_character(scratch.word, at), 1);
        const auto place = static_cast<std::uint32_t>(scratch.symbols.size());
        scratch.symbols.push_back({static_cast<std::uint32_t>(at),
                                   static_cast<std::uint32_t>(length), place - 1, place + 1, -1});
        at += length;
    }
    if (scratch.symbols.empty()) return;
    scratch.symbols.front().previous = kNone;
    scratch.symbols.back().next = kNone;
    merge_all(scratch);
    for (std::uint32_t at = 0; at != kNone; at = scratch.symbols[at].next) {
        const Symbol& symbol = scratch.symbols[at];
        emit(std::string_view(scratch.word).substr(symbol.begin, symbol.length), symbol.id, scratch,
             out);
    }
}

/// Bytes of the first word of `text`: up to a space that no piece joins to what is before it. With
/// unused pieces, what one falls back into may come from elsewhere in the text: one word.
std::size_t Spm::word_end(std::string_view text) const {
    std::size_t at = has_unused_ ? std::string_view::npos : text.find(' ', 1);
    for (; at < text.size() && at < kMaxWordBytes; at = text.find(' ', at + 1)) {
        const char before = text[at - 1];
        const bool run = before == ' ' || before == kEscapedSpace.back();
        if (!run && !before_space_[static_cast<unsigned char>(before)]) return at;
    }
    return text.size() <= kMaxWordBytes ? text.size() : utf8_floor(text, kMaxWordBytes);
}

void Spm::encode_valid(std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const {
    std::string squeezed_text;
    if (squeeze_spaces_) text = squeezed_text = squeezed(text, space_prefix_);
    scratch.after_unknown = false;
    while (!text.empty()) {
        const std::size_t end = word_end(text);
        encode_word(text.substr(0, end), scratch, out);
        text.remove_prefix(end);
    }
}

void Spm::encode(std::string_view text, std::vector<TokenId>& out) const {
    Scratch scratch;
    std::size_t begin = 0, at = 0;
    while (at < text.size()) {
        const std::size_t length = utf8_character(text, at);
        if (length > 0) {
            at += length;
            continue;
        }
        encode_valid(text.substr(begin, at - begin), scratch, out);
        encode_byte(text[at], out);
        begin = ++at;
    }
    encode_valid(text.substr(begin), scratch, out);
}

std::string Spm::bytes(std::string_view token_text, TokenType) const {
    std::string out;
    for (std::size_t at = 0; at < token_text.size(); ++at) {
        if (token_text.substr(at).starts_with(kEscapedSpace)) {
            out += ' ';
            at += kEscapedSpace.size() - 1;
        } else {
            out += token_text[at];
        }
    }
    return out;
}

}  // namespace hearth
