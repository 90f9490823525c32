#include "app/repl/input_history.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unordered_set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/options.h"
#include "app/repl/graphemes.h"

namespace hearth::repl {
namespace {

constexpr std::size_t kMaxEntries = 2000;
/// Longer texts (pasted files) are remembered in memory only.
constexpr std::size_t kMaxStoredBytes = 64 * 1024;

/// A file descriptor that closes itself.
struct Descriptor {
    int fd;
    ~Descriptor() {
        if (fd >= 0) ::close(fd);
    }
};

Result<void> write_all(const std::string& path, int flags, std::string_view bytes) {
    const Descriptor file{::open(path.c_str(), flags | O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
    if (file.fd < 0) {
        return fail(Errc::failed, "The input history {} cannot be written: {}.", path,
                    std::strerror(errno));
    }
    ::fchmod(file.fd, 0600);
    while (!bytes.empty()) {
        const ssize_t n = ::write(file.fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            return fail(Errc::failed, "The input history {} cannot be written: {}.", path,
                        std::strerror(errno));
        }
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

}  // namespace

std::string escape_history_line(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\') {
            out += "\\\\";
        } else if (c == '\n') {
            out += "\\n";
        } else {
            out += c;
        }
    }
    return out;
}

std::string unescape_history_line(std::string_view line) {
    std::string out;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\\' && i + 1 < line.size()) {
            ++i;
            out += line[i] == 'n' ? '\n' : line[i];
        } else {
            out += line[i];
        }
    }
    return repair_utf8(out);
}

Result<void> InputHistory::open(const std::string& path) {
    if (path.empty()) return {};
    HEARTH_TRY_VOID(make_private_dir(std::filesystem::path(path).parent_path().string()));
    std::error_code error;
    if (std::filesystem::exists(path, error)) {
        std::ifstream file(path, std::ios::binary);
        if (!file) {
            return fail(Errc::failed, "The input history {} cannot be read: {}.", path,
                        std::strerror(errno));
        }
        std::vector<std::string> lines;
        for (std::string line; std::getline(file, line);) {
            if (!line.empty()) lines.push_back(unescape_history_line(line));
        }
        // The newest of equal entries stays; walking backwards makes that one pass.
        std::unordered_set<std::string> seen;
        for (auto line = lines.rbegin(); line != lines.rend() && seen.size() < kMaxEntries;
             ++line) {
            if (seen.insert(*line).second) entries_.push_back(*line);
        }
        std::reverse(entries_.begin(), entries_.end());
        path_ = path;
        if (lines.size() > 2 * kMaxEntries) return rewrite();
    }
    path_ = path;
    return {};
}

Result<void> InputHistory::rewrite() {
    std::string bytes;
    for (const auto& entry : entries_) bytes += escape_history_line(entry) + "\n";
    const std::string next = path_ + ".new";
    HEARTH_TRY_VOID(write_all(next, O_TRUNC, bytes));
    if (std::rename(next.c_str(), path_.c_str()) != 0) {
        return fail(Errc::failed, "The input history {} cannot be replaced: {}.", path_,
                    std::strerror(errno));
    }
    return {};
}

void InputHistory::remember(const std::string& text) {
    entries_.erase(std::remove(entries_.begin(), entries_.end(), text), entries_.end());
    entries_.push_back(text);
    if (entries_.size() > kMaxEntries) entries_.erase(entries_.begin());
}

Result<void> InputHistory::add(const std::string& text) {
    if (!enabled_ || text.find_first_not_of(" \t\n") == std::string::npos) return {};
    if (!entries_.empty() && entries_.back() == text) return {};
    remember(text);
    if (path_.empty() || text.size() > kMaxStoredBytes) return {};
    // One append of one line: entries of programs that run at the same time do not mix.
    auto written = write_all(path_, O_APPEND, escape_history_line(text) + "\n");
    if (!written) path_.clear();
    return written;
}

}  // namespace hearth::repl
