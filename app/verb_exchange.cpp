// hearth export, import, backup: chats to and from other places.

#include <cstdio>
#include <ctime>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/exchange/export.h"
#include "app/exchange/import.h"
#include "app/session.h"
#include "app/verbs.h"

namespace hearth {
namespace {

constexpr int kAllChats = 1'000'000'000;

/// What the user named, or all chats; those of the archive too, not those of the trash.
Result<std::vector<PortableChat>> chats_to_export(Store& store, const Options& options) {
    std::vector<PortableChat> chats;
    if (!options.all) {
        if (options.target.empty())
            return fail(Errc::usage,
                        "export takes a conversation (`hearth history` lists them) or "
                        "--all");
        HEARTH_TRY(const auto chat, store.find(options.target));
        if (!chat)
            return fail(Errc::failed, "there is no conversation '{}'; `hearth history` lists them",
                        options.target);
        HEARTH_TRY(PortableChat portable, store.export_chat(chat->id));
        chats.push_back(std::move(portable));
        return chats;
    }
    for (const ChatFolder folder : {ChatFolder::shown, ChatFolder::archived}) {
        HEARTH_TRY(const auto listed, store.list(kAllChats, 0, folder));
        for (const Conversation& chat : listed) {
            HEARTH_TRY(PortableChat portable, store.export_chat(chat.id));
            chats.push_back(std::move(portable));
        }
    }
    return chats;
}

Result<void> export_chats(Store& store, const Options& options) {
    const ExportFormat otherwise = options.all ? ExportFormat::json : ExportFormat::markdown;
    ExportFormat format = export_format_of_file(options.output, otherwise);
    if (!options.format.empty()) {
        HEARTH_TRY(format, export_format(options.format));
    }
    HEARTH_TRY(const auto chats, chats_to_export(store, options));
    std::string text = export_text(chats, format);
    if (options.output.empty() || options.output == "-") {
        // JSON has no control characters; a terminal takes none from the others.
        if (options.stdout_tty && format != ExportFormat::json) text = printable(text);
        std::fwrite(text.data(), 1, text.size(), stdout);
        return {};
    }
    HEARTH_TRY_VOID(write_new_file(options.output, text));
    if (!options.quiet)
        std::fprintf(stderr, "%s: %zu %s\n", options.output.c_str(), chats.size(),
                     chats.size() == 1 ? "chat" : "chats");
    return {};
}

void print_sum(const std::string& file, const ImportSum& sum, const Options& options) {
    if (options.json) {
        const nlohmann::ordered_json json = {
            {"file", file},           {"format", sum.format},           {"chats", sum.n_chats},
            {"new_chats", sum.n_new}, {"new_messages", sum.n_messages}, {"notes", sum.notes}};
        std::puts(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
        return;
    }
    if (options.quiet) return;
    for (const std::string& note : sum.notes) std::fprintf(stderr, "%s\n", printable(note).c_str());
    std::fprintf(stderr, "%s: %s\n", printable(file).c_str(), import_sentence(sum).c_str());
}

/// ".../hearth-20261130-213000.db" in the folder of the data.
std::string backup_name(const Options& options) {
    const std::time_t now = std::time(nullptr);
    std::tm local = {};
    ::localtime_r(&now, &local);
    char text[40];
    const std::size_t n = std::strftime(text, sizeof text, "hearth-%Y%m%d-%H%M%S.db", &local);
    return options.paths.data_dir + "/" + std::string(text, n);
}

}  // namespace

int verb_export(const Options& options) {
    const auto store = open_store(options);
    if (!store) return tell_error(store.error());
    const Result<void> done = export_chats(**store, options);
    return done ? 0 : tell_error(done.error());
}

int verb_import(const Options& options) {
    const auto store = open_store(options);
    if (!store) return tell_error(store.error());
    int code = 0;
    // A bad file does not keep the others out.
    for (const std::string& file : options.files) {
        const auto sum = import_file(**store, file);
        if (sum)
            print_sum(file, *sum, options);
        else
            code = tell_error(sum.error());
    }
    return code;
}

int verb_backup(const Options& options) {
    const auto store = open_store(options);
    if (!store) return tell_error(store.error());
    const std::string path = options.target.empty() ? backup_name(options) : options.target;
    if (const auto done = (*store)->backup(path); !done) return tell_error(done.error());
    std::printf("%s\n", path.c_str());
    return 0;
}

}  // namespace hearth
