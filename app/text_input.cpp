#include "app/text_input.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utf8proc.h>

namespace hearth {
namespace {

/// More than any context holds by far; a wrong file (a disk image) must not fill the memory.
constexpr std::size_t kMaxInputBytes = std::size_t{1} << 30;

Result<std::string> read_descriptor(int descriptor, const std::string& name) {
    std::string content;
    char block[65536];
    for (;;) {
        const ssize_t n = ::read(descriptor, block, sizeof block);
        if (n == 0) return content;
        if (n < 0 && errno == EINTR) return fail(Errc::stopped, "interrupted");
        if (n < 0) return fail(Errc::failed, "cannot read {}: {}", name, std::strerror(errno));
        content.append(block, static_cast<std::size_t>(n));
        if (content.size() > kMaxInputBytes) {
            return fail(Errc::context_overflow, "{} is longer than 1 GiB: too long for any context",
                        name);
        }
    }
}

}  // namespace

std::string valid_utf8(std::string_view bytes, std::size_t* replaced) {
    if (bytes.substr(0, 3) == "\xEF\xBB\xBF") bytes.remove_prefix(3);
    std::string out;
    out.reserve(bytes.size());
    std::size_t n_replaced = 0;
    while (!bytes.empty()) {
        utf8proc_int32_t point = 0;
        const auto* data = reinterpret_cast<const utf8proc_uint8_t*>(bytes.data());
        // At most four bytes: utf8proc takes a signed length, and it need not see the rest.
        const auto n_seen = static_cast<utf8proc_ssize_t>(std::min<std::size_t>(bytes.size(), 4));
        const utf8proc_ssize_t used = utf8proc_iterate(data, n_seen, &point);
        if (used > 0 && point != 0) {
            out.append(bytes.substr(0, static_cast<std::size_t>(used)));
            bytes.remove_prefix(static_cast<std::size_t>(used));
            continue;
        }
        out += used > 0 ? "\u2400" : "\uFFFD";
        ++n_replaced;
        bytes.remove_prefix(1);
    }
    if (replaced != nullptr) *replaced = n_replaced;
    return out;
}

Result<std::string> read_text_file(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return fail(Errc::failed, "cannot read {}: {}", path, std::strerror(errno));
    }
    struct stat status = {};
    Result<std::string> content = fail(Errc::failed, "cannot read {}: it is a folder", path);
    if (::fstat(descriptor, &status) != 0 || !S_ISDIR(status.st_mode)) {
        content = read_descriptor(descriptor, path);
    }
    ::close(descriptor);
    return content;
}

Result<std::string> read_standard_input() {
    return read_descriptor(STDIN_FILENO, "standard input");
}

std::string as_document(const std::string& name, const std::string& text) {
    if (name.empty()) return text;
    // A fence longer than any run of backticks inside, so that the text cannot close it.
    std::size_t longest = 2, run = 0;
    for (const char c : text) {
        run = c == '`' ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    const std::string fence(longest + 1, '`');
    const char* line_end = text.empty() || text.back() == '\n' ? "" : "\n";
    return fmt::format("{}\n{}\n{}{}{}", name, fence, text, line_end, fence);
}

}  // namespace hearth
