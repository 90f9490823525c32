#include "app/exchange/import.h"

#include <nlohmann/json.hpp>

#include "app/exchange/foreign_formats.h"
#include "app/exchange/json_reading.h"
#include "app/exchange/own_format.h"
#include "app/text_input.h"

namespace hearth {
namespace {

/// FNV-1a, 64 bits: names files that have no id; nobody is kept out by it.
std::string hash_of(std::string_view bytes) {
    std::uint64_t hash = 14695981039346656037ull;
    for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    return fmt::format("{:016x}-{}", hash, bytes.size());
}

bool begins_with(std::string_view text, std::string_view begin) {
    return text.substr(0, begin.size()) == begin;
}

/// What a file is that is no JSON, when its first bytes tell; "" = unknown.
std::string what_it_is(std::string_view bytes) {
    if (begins_with(bytes, "PK\x03\x04"))
        return "it is a zip archive; unpack it, and import the conversations.json in it";
    if (begins_with(bytes, "GGUF"))
        return "it is a model; models are used where they are: hearth run FILE";
    if (begins_with(bytes, "SQLite format 3"))
        return "it is a database; a Hearth database is opened with --data-dir, and its chats come "
               "over with `hearth export --all` there";
    return "";
}

/// Lines of JSON objects as one array; discarded when a line is none.
nlohmann::json read_lines(std::string_view text) {
    nlohmann::json list = nlohmann::json::array();
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        auto json = nlohmann::json::parse(line, nullptr, false);
        if (!json.is_object()) return nlohmann::json(nlohmann::json::value_t::discarded);
        list.push_back(std::move(json));
    }
    return list.empty() ? nlohmann::json(nlohmann::json::value_t::discarded) : list;
}

Result<nlohmann::json> parse(std::string_view text, const std::string& name) {
    if (const std::string what = what_it_is(text); !what.empty())
        return fail(Errc::failed, "{} holds no chats: {}", name, what);
    std::string where;
    auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_discarded()) json = read_lines(text);
    if (!json.is_discarded()) return json;
    try {
        [[maybe_unused]] const auto again = nlohmann::json::parse(text);  // for the place
    } catch (const nlohmann::json::parse_error& error) {
        where = fmt::format(", which ceases to be JSON at byte {} of {}", error.byte, text.size());
    } catch (const nlohmann::json::out_of_range&) {
        where = ", with a number that no program can hold";
    }
    return fail(Errc::failed,
                "{} holds no chats: a JSON file of Hearth, ChatGPT, LM Studio or a list of "
                "messages is expected, found something else{}",
                name, where);
}

/// What every chat must have before it may be stored.
void settle(ImportFile& file) {
    for (PortableChat& chat : file.chats)
        for (PortableMessage& m : chat.messages)
            if (m.message.role.empty()) m.message.role = "user";
    std::erase_if(file.chats, [&](const PortableChat& chat) {
        if (!chat.origin.empty() && !chat.messages.empty()) return false;
        file.notes.push_back(fmt::format("“{}” has no messages: left out", chat.title));
        return true;
    });
}

}  // namespace

Result<ImportFile> read_import(std::string_view bytes, const std::string& name) {
    ImportFile file;
    std::size_t replaced = 0;
    const std::string text = valid_utf8(std::string(bytes), &replaced);
    HEARTH_TRY(const nlohmann::json json, parse(begins_with(bytes, "PK") ? bytes : text, name));
    if (replaced > 0)
        file.notes.push_back(
            fmt::format("{} has {} bytes that are no UTF-8; they are marked", name, replaced));
    if (is_own_format(json)) {
        file.format = "Hearth";
        auto chats = read_own_format(json, &file.notes);
        if (!chats)
            return fail(Errc::failed, "{} cannot be imported: {}", name, chats.error().what);
        file.chats = std::move(*chats);
    } else if (is_chatgpt(json)) {
        file.format = "ChatGPT";
        file.chats = read_chatgpt(json, &file.notes);
    } else if (is_lm_studio(json)) {
        file.format = "LM Studio";
        file.chats.push_back(read_lm_studio(json, &file.notes));
    } else if (is_message_list(json)) {
        file.format = "a list of messages";
        file.chats.push_back(read_message_list(json, hash_of(text), &file.notes));
    } else if (!(json.is_array() && json.empty())) {
        return fail(Errc::failed,
                    "{} is JSON, but holds no chats: a file of Hearth, ChatGPT, LM Studio or a "
                    "list of messages with role and content is expected",
                    name);
    }
    settle(file);
    return file;
}

Result<ImportSum> import_file(Store& store, const std::string& path) {
    HEARTH_TRY(const std::string bytes, read_text_file(path));
    HEARTH_TRY(ImportFile file, read_import(bytes, path));
    ImportSum sum;
    sum.format = file.format;
    sum.notes = std::move(file.notes);
    for (const PortableChat& chat : file.chats) {
        HEARTH_TRY(const ImportOutcome outcome, store.import_chat(chat));
        ++sum.n_chats;
        sum.n_new += outcome.is_new;
        sum.n_messages += outcome.n_added;
        sum.n_in_trash += outcome.in_trash;
        if (!outcome.in_trash) sum.last = outcome.id;
    }
    return sum;
}

std::string import_sentence(const ImportSum& sum) {
    if (sum.n_chats == 0) return "no chats in it";
    std::string text = fmt::format("{} {} ({} new), {} new {} ({})", sum.n_chats,
                                   sum.n_chats == 1 ? "chat" : "chats", sum.n_new, sum.n_messages,
                                   sum.n_messages == 1 ? "message" : "messages", sum.format);
    if (sum.n_in_trash > 0)
        text += fmt::format("; {} are in the trash here and stay there", sum.n_in_trash);
    return text;
}

}  // namespace hearth
