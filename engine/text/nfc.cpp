#include "engine/text/nfc.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <utf8proc.h>

#include "engine/text/utf8.h"

namespace hearth {
namespace {

/// Code points of a base and its marks that are still put in order (the library does it by
/// exchanging neighbours). Stream-safe text has at most 30 marks (Unicode annex 15).
constexpr std::size_t kMaxCodePoints = 256;

std::int32_t code_point(std::string_view character) {
    std::int32_t value = 0;
    utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(character.data()),
                     static_cast<utf8proc_ssize_t>(character.size()), &value);
    return value;
}

/// Marks, and the vowels and finals of Hangul: they may join what is before them.
bool joins(std::int32_t c) {
    if (c < 0x300) return false;
    const auto category = utf8proc_category(c);
    const bool mark = category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC;
    return mark || (c >= 0x1160 && c <= 0x11FF);
}

/// Scripts whose characters are NFC as long as no mark follows.
bool settled(std::int32_t c) {
    return c < 0x300 || (c >= 0x3400 && c <= 0x9FFF) || (c >= 0xAC00 && c <= 0xD7A3);
}

/// Has a canonical decomposition: may change even alone.
bool decomposes(std::int32_t c) {
    const utf8proc_property_t* property = utf8proc_get_property(c);
    return property->decomp_seqindex != 0xFFFF && property->decomp_type == 0;
}

/// Appends the NFC of a base with its marks; they stay as they are where there are too many.
void append_composed(std::string& out, std::string_view cluster) {
    std::array<utf8proc_int32_t, kMaxCodePoints> points;
    const auto n = utf8proc_decompose(reinterpret_cast<const utf8proc_uint8_t*>(cluster.data()),
                                      static_cast<utf8proc_ssize_t>(cluster.size()), points.data(),
                                      kMaxCodePoints, UTF8PROC_DECOMPOSE);
    if (n < 0 || n > static_cast<utf8proc_ssize_t>(kMaxCodePoints)) {
        out += cluster;
        return;
    }
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    const auto composed = utf8proc_normalize_utf32(points.data(), n, options);
    for (utf8proc_ssize_t i = 0; i < composed; ++i) {
        utf8proc_uint8_t bytes[4];
        const auto length = utf8proc_encode_char(points[static_cast<std::size_t>(i)], bytes);
        out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length));
    }
}

}  // namespace

std::string_view nfc(std::string_view text, std::string& buffer) {
    // Below U+0300 (lead byte 0xCC) everything is NFC.
    const bool simple = std::all_of(text.begin(), text.end(),
                                    [](char c) { return static_cast<unsigned char>(c) < 0xCC; });
    if (simple) return text;
    buffer.clear();
    std::size_t copied = 0;  // text before it is in `buffer`
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_character(text, at);
        if (length == 0) {
            ++at;
            continue;
        }
        const std::int32_t base = code_point(text.substr(at, length));
        std::size_t end = at + length;
        for (std::size_t more = 0; end < text.size(); end += more) {
            more = utf8_character(text, end);
            if (more < 2 || !joins(code_point(text.substr(end, more)))) break;
        }
        const bool changes = end > at + length || (!settled(base) && decomposes(base));
        if (changes) {
            buffer.append(text, copied, at - copied);
            append_composed(buffer, text.substr(at, end - at));
            copied = end;
        }
        at = end;
    }
    if (copied == 0) return text;
    buffer.append(text, copied);
    return buffer;
}

}  // namespace hearth
