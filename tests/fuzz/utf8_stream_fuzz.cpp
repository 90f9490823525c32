// Utf8Stream: any split of any bytes gives the same, valid text.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/text/detokenizer.h"
#include "engine/text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 4) return 0;
    std::uint32_t random = data[0] | data[1] << 8 | data[2] << 16;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
    hearth::Utf8Stream whole, parts;
    std::string expected = whole.push(bytes);
    expected += whole.finish();
    std::string out;
    for (std::size_t at = 0; at < bytes.size();) {
        random = random * 1664525u + 1013904223u;
        const std::size_t n = (random >> 24) % 5;
        out += parts.push(bytes.substr(at, n));
        at += std::min<std::size_t>(n, bytes.size() - at);
    }
    out += parts.finish();
    if (out != expected) std::abort();
    for (std::size_t at = 0; at < out.size();) {
        const std::size_t length = hearth::utf8_character(out, at);
        if (length == 0) std::abort();
        at += length;
    }
    return 0;
}
