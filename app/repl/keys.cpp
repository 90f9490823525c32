#include "app/repl/keys.h"

#include <algorithm>
#include <utility>

#include "app/repl/graphemes.h"

namespace hearth::repl {
namespace {

constexpr char kEscape = '\x1b';
constexpr std::string_view kPasteEnd = "\x1b[201~";
/// A sequence longer than this is no key: it is dropped byte by byte.
constexpr std::size_t kLongestSequence = 64;

template <typename Name>
struct Row {
    Name bytes;
    Key key;
};

constexpr Row<char> kControls[] = {
    {'\x01', Key::line_start},
    {'\x02', Key::left},
    {'\x03', Key::interrupt},
    {'\x04', Key::erase_or_end},
    {'\x05', Key::line_end},
    {'\x06', Key::right},
    {'\x07', Key::external_editor},
    {'\x08', Key::backspace},
    {'\x09', Key::tab},
    {'\x0a', Key::newline},
    {'\x0b', Key::kill_to_end},
    {'\x0c', Key::clear_screen},
    {'\x0d', Key::enter},
    {'\x0e', Key::newer},
    {'\x0f', Key::external_editor},
    {'\x10', Key::older},
    {'\x12', Key::search_back},
    {'\x13', Key::search_forward},
    {'\x14', Key::transpose},
    {'\x15', Key::kill_to_start},
    {'\x17', Key::kill_space_back},
    {'\x19', Key::yank},
    {'\x1a', Key::suspend},
    {'\x7f', Key::backspace},
};

/// After Escape (Alt held).
constexpr Row<char> kAlt[] = {
    {'b', Key::word_left},         {'B', Key::word_left},         {'f', Key::word_right},
    {'F', Key::word_right},        {'d', Key::kill_word},         {'D', Key::kill_word},
    {'y', Key::yank_pop},          {'<', Key::text_start},        {'>', Key::text_end},
    {'\x7f', Key::kill_word_back}, {'\x08', Key::kill_word_back}, {'\r', Key::newline},
    {'\n', Key::newline},
};

/// After Escape [ (parameters and final byte).
constexpr Row<std::string_view> kCsi[] = {
    {"A", Key::up},
    {"B", Key::down},
    {"C", Key::right},
    {"D", Key::left},
    {"H", Key::line_start},
    {"F", Key::line_end},
    {"1~", Key::line_start},
    {"7~", Key::line_start},
    {"4~", Key::line_end},
    {"8~", Key::line_end},
    {"3~", Key::erase},
    {"3;5~", Key::kill_word},
    {"3;3~", Key::kill_word},
    {"1;5C", Key::word_right},
    {"1;3C", Key::word_right},
    {"1;5D", Key::word_left},
    {"1;3D", Key::word_left},
    {"5C", Key::word_right},
    {"5D", Key::word_left},
    {"1;5H", Key::text_start},
    {"1;5F", Key::text_end},
    {"1;2A", Key::up},
    {"1;2B", Key::down},
    {"1;2C", Key::right},
    {"1;2D", Key::left},
    {"13;2u", Key::newline},
    {"13;3u", Key::newline},
    {"13;5u", Key::newline},
    {"27;2;13~", Key::newline},
    {"27;5;13~", Key::newline},
    {"27;3;13~", Key::newline},
    {"13u", Key::enter},
    {"27u", Key::escape},
    {"5~", Key::text_start},
    {"6~", Key::text_end},
};

/// After Escape O (keypad mode).
constexpr Row<char> kSs3[] = {
    {'A', Key::up},    {'B', Key::down},       {'C', Key::right},
    {'D', Key::left},  {'H', Key::line_start}, {'F', Key::line_end},
    {'M', Key::enter}, {'c', Key::word_right}, {'d', Key::word_left},
};

template <typename Table, typename Name>
const Key* look_up(const Table& table, Name bytes) {
    for (const auto& row : table) {
        if (row.bytes == bytes) return &row.key;
    }
    return nullptr;
}

bool is_text_byte(char c) {
    const auto u = static_cast<unsigned char>(c);
    return u >= 0x20 && u != 0x7F;
}

/// Line ends as \n, valid UTF-8, no NUL; everything else as it was.
std::string pasted_text(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] == '\r') {
            if (i + 1 >= bytes.size() || bytes[i + 1] != '\n') text += '\n';
        } else if (bytes[i] != '\0') {
            text += bytes[i];
        }
    }
    return repair_utf8(text);
}

}  // namespace

void KeyDecoder::feed(std::string_view bytes, std::vector<KeyEvent>& out) {
    pending_.append(bytes);
    std::size_t used = 0;
    while (used < pending_.size()) {
        if (in_paste_) {
            pending_.erase(0, used);
            used = 0;
            if (!end_paste(out)) return;
            continue;
        }
        const std::size_t n = decode(std::string_view(pending_).substr(used), out);
        if (n == 0) break;
        used += n;
    }
    pending_.erase(0, used);
}

void KeyDecoder::flush(std::vector<KeyEvent>& out) {
    if (in_paste_ || pending_.empty()) return;
    if (pending_[0] == kEscape && pending_.size() == 1) {
        out.push_back({Key::escape});
    } else if (pending_[0] == kEscape) {
        // an unfinished sequence: noise
    } else if (is_text_byte(pending_[0])) {
        out.push_back({Key::text, repair_utf8(pending_)});
    }
    pending_.clear();
}

bool KeyDecoder::end_paste(std::vector<KeyEvent>& out) {
    const std::size_t end = pending_.find(kPasteEnd, scanned_);
    if (end == std::string::npos) {
        scanned_ = pending_.size() < kPasteEnd.size() ? 0 : pending_.size() - kPasteEnd.size() + 1;
        return false;
    }
    out.push_back({Key::paste, pasted_text(std::string_view(pending_).substr(0, end))});
    pending_.erase(0, end + kPasteEnd.size());
    in_paste_ = false;
    scanned_ = 0;
    return true;
}

/// Bytes used; 0 when the key is not complete.
std::size_t KeyDecoder::decode(std::string_view bytes, std::vector<KeyEvent>& out) {
    const char c = bytes[0];
    if (c == kEscape) return decode_escape(bytes, out);
    if (c == '\x18') {  // Ctrl+X, a prefix
        if (bytes.size() < 2) return 0;
        if (bytes[1] == '\x05') out.push_back({Key::external_editor});
        return bytes[1] == '\x03' ? 1 : 2;  // Ctrl+C is never swallowed
    }
    if (is_text_byte(c)) return decode_text(bytes, out);
    if (const Key* key = look_up(kControls, c)) out.push_back({*key});
    return 1;
}

std::size_t KeyDecoder::decode_text(std::string_view bytes, std::vector<KeyEvent>& out) {
    std::size_t n = 0;
    while (n < bytes.size() && is_text_byte(bytes[n])) ++n;
    if (n == bytes.size()) n -= incomplete_tail(bytes);
    if (n == 0) return 0;
    out.push_back({Key::text, repair_utf8(bytes.substr(0, n))});
    return n;
}

std::size_t KeyDecoder::decode_escape(std::string_view bytes, std::vector<KeyEvent>& out) {
    if (bytes.size() < 2) return 0;
    const char next = bytes[1];
    if (next == '[') return decode_csi(bytes, out);
    if (next == 'O') {
        if (bytes.size() < 3) return 0;
        if (const Key* key = look_up(kSs3, bytes[2])) out.push_back({*key});
        return 3;
    }
    if (next == kEscape) {  // Alt with a sequence, as rxvt sends it; or Escape twice
        out.push_back({Key::escape});
        return 1;
    }
    if (const Key* key = look_up(kAlt, next)) {
        out.push_back({*key});
        return 2;
    }
    // Escape and then, at once, Ctrl+C or the like: two keys.
    if (!is_text_byte(next)) {
        out.push_back({Key::escape});
        return 1;
    }
    // Alt and a letter without meaning: swallow it whole, also when it is several bytes.
    const std::size_t tail = incomplete_tail(bytes);
    if (tail > 0 && tail + 1 == bytes.size()) return 0;
    return 1 + code_point_at(bytes, 1).n_bytes;
}

std::size_t KeyDecoder::decode_csi(std::string_view bytes, std::vector<KeyEvent>& out) {
    std::size_t end = 2;
    if (bytes.size() > 2 && bytes[2] == '[') ++end;  // Linux console: ESC [ [ A is F1
    while (end < bytes.size() && bytes[end] >= 0x20 && bytes[end] < 0x40) ++end;
    if (end >= bytes.size()) return bytes.size() > kLongestSequence ? bytes.size() : 0;
    if (bytes[end] == kEscape) return end;  // broken off
    const std::string_view body = bytes.substr(2, end - 1);
    if (body == "200~") {
        in_paste_ = true;
        scanned_ = 0;
    } else if (const Key* key = look_up(kCsi, body)) {
        out.push_back({*key});
    }
    return end + 1;
}

}  // namespace hearth::repl
