#include "app/exchange/export.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/exchange/own_format.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

std::string one_line(std::string text) {
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    return text;
}

std::string title_of(const PortableChat& chat) {
    return chat.title.empty() ? "(no title)" : one_line(chat.title);
}

const char* state_note(MessageState state) {
    switch (state) {
        case MessageState::complete:
            return "";
        case MessageState::streaming:
            return "being written";
        case MessageState::stopped:
            return "stopped";
        case MessageState::failed:
            return "failed";
    }
    return "";
}

std::string speaker(const StoredMessage& message) {
    if (message.role == "user") return "You";
    if (message.role == "assistant" && !message.model.empty()) return one_line(message.model);
    return one_line(message.role);
}

std::string utc_time(std::int64_t unix_ms) {
    const std::time_t seconds = static_cast<std::time_t>(unix_ms / 1000);
    std::tm parts = {};
    if (unix_ms <= 0 || ::gmtime_r(&seconds, &parts) == nullptr) return "";
    char text[40];
    return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts));
}

/// Indices from the first message to the one that is shown last.
std::vector<std::size_t> shown_path(const PortableChat& chat) {
    std::vector<std::size_t> path;
    int at = chat.active >= 0 ? chat.active : static_cast<int>(chat.messages.size()) - 1;
    for (; at >= 0; at = chat.messages[static_cast<std::size_t>(at)].parent)
        path.push_back(static_cast<std::size_t>(at));
    std::reverse(path.begin(), path.end());
    return path;
}

/// Indices of the messages with this parent, oldest first.
std::vector<std::size_t> children(const PortableChat& chat, int parent) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < chat.messages.size(); ++i)
        if (chat.messages[i].parent == parent) found.push_back(i);
    return found;
}

/// "stopped, version 2 of 3" or "".
std::string remarks(const PortableChat& chat, std::size_t index) {
    const PortableMessage& m = chat.messages[index];
    std::string out = state_note(m.message.state);
    const std::vector<std::size_t> siblings = children(chat, m.parent);
    if (siblings.size() > 1) {
        const auto at = std::find(siblings.begin(), siblings.end(), index) - siblings.begin();
        out += fmt::format("{}version {} of {}", out.empty() ? "" : ", ", at + 1, siblings.size());
    }
    return out;
}

std::string to_markdown(const PortableChat& chat) {
    std::string out = "# " + title_of(chat) + "\n";
    if (!chat.system_prompt.empty()) out += "\n## System\n\n" + chat.system_prompt + "\n";
    for (const std::size_t index : shown_path(chat)) {
        const StoredMessage& message = chat.messages[index].message;
        const std::string remark = remarks(chat, index);
        out += fmt::format("\n## {}{}\n\n{}\n", speaker(message),
                           remark.empty() ? "" : " (" + remark + ")", message.content);
    }
    return out;
}

std::string escaped(std::string_view text) {
    std::string out;
    out.reserve(text.size() + text.size() / 16);
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                // Control characters mean nothing in HTML, and some browsers refuse them.
                if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') out += c;
        }
    }
    return out;
}

std::string message_html(const PortableChat& chat, std::size_t index) {
    const StoredMessage& m = chat.messages[index].message;
    const std::string remark = remarks(chat, index), time = utc_time(m.created_ms);
    std::string out = fmt::format("<article class=\"{}\"><h2>{}</h2>",
                                  m.role == "user" ? "user" : "other", escaped(speaker(m)));
    if (!time.empty() || !remark.empty())
        out += fmt::format("<p class=\"note\">{}{}{}</p>", time,
                           time.empty() || remark.empty() ? "" : " · ", escaped(remark));
    if (!m.reasoning.empty())
        out += "<details><summary>thought</summary><div class=\"text\" dir=\"auto\">" +
               escaped(m.reasoning) + "</div></details>";
    return out + "<div class=\"text\" dir=\"auto\">" + escaped(m.content) + "</div></article>\n";
}

/// A message and all that follows it, each branch one after the other.
std::string subtree_html(const PortableChat& chat,
                         const std::vector<std::vector<std::size_t>>& below, std::size_t root) {
    std::string out;
    std::vector<std::size_t> todo{root};
    while (!todo.empty()) {
        const std::size_t at = todo.back();
        todo.pop_back();
        out += message_html(chat, at);
        todo.insert(todo.end(), below[at].rbegin(), below[at].rend());
    }
    return out;
}

std::string to_html(const PortableChat& chat) {
    std::string out = fmt::format("<section><h1 dir=\"auto\">{}</h1>\n", escaped(title_of(chat)));
    if (!chat.system_prompt.empty())
        out += "<article class=\"other\"><h2>System</h2><div class=\"text\" dir=\"auto\">" +
               escaped(chat.system_prompt) + "</div></article>\n";
    std::vector<std::vector<std::size_t>> below(chat.messages.size());
    for (std::size_t i = 0; i < chat.messages.size(); ++i)
        if (chat.messages[i].parent >= 0)
            below[static_cast<std::size_t>(chat.messages[i].parent)].push_back(i);
    for (const std::size_t index : shown_path(chat)) {
        out += message_html(chat, index);
        for (const std::size_t other : children(chat, chat.messages[index].parent))
            if (other != index)
                out += "<details><summary>another version, and what followed it</summary>\n" +
                       subtree_html(chat, below, other) + "</details>\n";
    }
    return out + "</section>\n";
}

const char* const kHtmlHead =
    "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<style>body{font:16px/1.5 sans-serif;max-width:46em;margin:2em auto;padding:0 1em}"
    ".text{white-space:pre-wrap;overflow-wrap:anywhere}h1{font-size:1.4em}"
    "h2{font-size:1em;margin-bottom:.2em}.user{background:#8881;padding:.2em 1em}"
    ".note{color:#777;font-size:.8em;margin:0}details{margin-left:2em}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}</style>\n";

}  // namespace

Result<ExportFormat> export_format(std::string_view name) {
    if (name == "md" || name == "markdown") return ExportFormat::markdown;
    if (name == "json") return ExportFormat::json;
    if (name == "html") return ExportFormat::html;
    return fail(Errc::usage, "one of md, json, html is expected as a format, found '{}'", name);
}

ExportFormat export_format_of_file(std::string_view path, ExportFormat otherwise) {
    const std::size_t dot = path.rfind('.');
    if (dot == std::string_view::npos) return otherwise;
    const std::string_view ending = path.substr(dot + 1);
    if (ending == "htm") return ExportFormat::html;
    return export_format(ending).value_or(otherwise);
}

std::string export_text(const std::vector<PortableChat>& chats, ExportFormat format) {
    if (format == ExportFormat::json) return own_format(chats);
    std::string out;
    if (format == ExportFormat::html) {
        const std::string title = chats.size() == 1 ? title_of(chats[0]) : "Chats";
        out = kHtmlHead + fmt::format("<title>{}</title></head><body>\n", escaped(title));
    }
    for (const PortableChat& chat : chats) {
        if (format == ExportFormat::markdown && !out.empty()) out += "\n";
        out += format == ExportFormat::html ? to_html(chat) : to_markdown(chat);
    }
    return format == ExportFormat::html ? out + "</body></html>\n" : out;
}

Result<void> write_new_file(const std::string& path, std::string_view bytes) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return fail(Errc::failed, "{} exists already and was not touched; give another name", path);
    if (fd < 0) return fail(Errc::failed, "{} cannot be made: {}", path, std::strerror(errno));
    int error = 0;
    while (!bytes.empty() && error == 0) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n >= 0)
            bytes.remove_prefix(static_cast<std::size_t>(n));
        else if (errno != EINTR)
            error = errno;
    }
    if (::close(fd) != 0 && error == 0) error = errno;
    if (error == 0) return {};
    ::unlink(path.c_str());
    return fail(Errc::failed, "{} cannot be written: {}", path, std::strerror(error));
}

}  // namespace hearth
