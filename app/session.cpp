#include "app/session.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "app/signals.h"
#include "app/text_input.h"
#include "engine/cache_files.h"

namespace hearth {
namespace {

bool is_number(const std::string& text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Error no_model(const Options& options) {
    return {
        Errc::model_not_found,
        fmt::format("no model was found on this machine. Put a .gguf file into {}, or name one: "
                    "hearth run /path/to/model.gguf. packaging/run.sh in the source folder gets "
                    "a small one to begin with",
                    options.paths.own_models())};
}

Error which_model(const std::vector<FoundModel>& models) {
    std::string names;
    for (const FoundModel& model : models) names += "\n  hearth run " + model.name;
    return {Errc::model_not_found, "there are several models; which one?" + names};
}

/// Asks on the terminal. Errors: model_not_found when there is no answer.
Result<std::string> ask_for_model(const std::vector<FoundModel>& models) {
    std::size_t width = 0;
    for (const FoundModel& model : models) width = std::max(width, model.name.size());
    std::string text = "Models on this machine:\n";
    for (std::size_t i = 0; i < models.size(); ++i) {
        text += fmt::format("{:>4}  {:<{}}  {:>10}  {}\n", i + 1, printable(models[i].name), width,
                            show_bytes(models[i].bytes), models[i].origin);
    }
    std::fprintf(stderr, "%sWhich one? (number or name) ", text.c_str());
    std::string line;
    for (int c = std::getchar(); c != EOF && c != '\n'; c = std::getchar()) {
        line += static_cast<char>(c);
    }
    if (caught_signal() != 0) return fail(Errc::stopped, "no model was chosen");
    line.erase(0, line.find_first_not_of(" \t"));
    line.erase(line.find_last_not_of(" \t") + 1);
    if (line.empty()) return fail(Errc::model_not_found, "no model was chosen");
    if (!is_number(line)) return line;
    const std::size_t number = line.size() < 6 ? std::stoul(line) : 0;
    if (number < 1 || number > models.size()) {
        return fail(Errc::model_not_found, "there is no model {} in this list of {}", line,
                    models.size());
    }
    return models[number - 1].path;
}

/// --model, the chat's, the config file's, the one used last, the only one: in this order.
Result<void> choose_model(ChatController& chat, const Options& options) {
    if (!options.model.empty()) return chat.set_model(options.model);
    if (!chat.view().model_path.empty()) return {};
    if (!options.default_model.empty()) return chat.set_model(options.default_model);
    const auto last = chat.store().latest();
    if (last && *last && !(*last)->model.empty() && chat.set_model((*last)->model)) return {};
    const std::vector<FoundModel> models = chat.models();
    if (models.empty()) return tl::unexpected<Error>(no_model(options));
    if (models.size() == 1) return chat.set_model(models.front().path);
    if (!is_conversation(options)) return tl::unexpected<Error>(which_model(models));
    HEARTH_TRY(const std::string name, ask_for_model(models));
    return chat.set_model(name);
}

Result<void> choose_chat(ChatController& chat, const Options& options) {
    if (options.continue_chat) {
        HEARTH_TRY(const auto last, chat.store().latest());
        if (!last) return fail(Errc::failed, "there is no conversation yet to go on with");
        return chat.switch_to(last->id);
    }
    if (options.chat.empty()) return {};
    HEARTH_TRY(const auto found, chat.store().find(options.chat));
    if (found) return chat.switch_to(found->id);
    if (is_number(options.chat)) {
        return fail(Errc::failed, "there is no conversation {}; `hearth history` lists them",
                    options.chat);
    }
    return chat.set_title(valid_utf8(options.chat));
}

}  // namespace

bool is_conversation(const Options& options) {
    return options.verb == Verb::run && options.stdin_tty && !options.prompt &&
           options.ids.empty() && !options.json;
}

Result<std::unique_ptr<Store>> open_store(const Options& options) {
    if (options.no_log) return Store::in_memory();
    HEARTH_TRY_VOID(make_private_dir(options.paths.data_dir));
    auto store = Store::open(options.paths.database());
    if (!store) store.error().what += " (--no-log works without a database)";
    return store;
}

namespace {

Result<std::unique_ptr<ChatController>> open_without_model(const Options& options) {
    if (options.no_log && (options.continue_chat || !options.chat.empty())) {
        return fail(Errc::usage,
                    "nothing is stored in this run (--no-log or HEARTH_NO_HISTORY), so there is no "
                    "conversation to go on with");
    }
    ChatSetup setup;
    HEARTH_TRY(setup.store, open_store(options));
    // Nothing is stored: nothing that was computed either.
    const std::string cache_dir = options.no_log ? "" : options.paths.cache_dir;
    setup.make_engine = [cache_dir](EngineOptions engine, std::function<void()> wake) {
        engine.cache_dir = cache_dir;
        return Engine::make_local(std::move(engine), std::move(wake));
    };
    setup.forget_cached = [cache_dir](const std::string& conversation) {
        if (!cache_dir.empty()) (void)cache_files::forget(cache_dir, conversation);
    };
    setup.places = options.places;
    setup.settings = options.settings;
    setup.system_prompt = valid_utf8(options.system.value_or(options.default_system));
    setup.want_logits_hash = options.json;
    auto chat = std::make_unique<ChatController>(std::move(setup));
    HEARTH_TRY_VOID(choose_chat(*chat, options));
    return chat;
}

}  // namespace

Result<std::unique_ptr<ChatController>> open_chat_for_window(const Options& options) {
    HEARTH_TRY(auto chat, open_without_model(options));
    if (!chat->view().model_path.empty()) return chat;
    if (!options.default_model.empty() && chat->set_model(options.default_model)) return chat;
    const auto last = chat->store().latest();
    if (last && *last && !(*last)->model.empty()) (void)chat->set_model((*last)->model);
    return chat;
}

Result<std::unique_ptr<ChatController>> open_chat(const Options& options) {
    HEARTH_TRY(auto chat, open_without_model(options));
    HEARTH_TRY_VOID(choose_model(*chat, options));
    if (options.system) HEARTH_TRY_VOID(chat->set_system(*options.system));
    for (const std::string& file : options.files) {
        HEARTH_TRY([[maybe_unused]] const std::string sentence, chat->attach(file));
    }
    return chat;
}

Result<std::string> model_path_of(const Options& options) {
    HEARTH_TRY(const FoundModel model, resolve_model(options.model, options.places));
    return model.path;
}

std::string printable(const std::string& text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        const bool is_c1 =
            c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
        if (is_c1) {
            ++i;
        } else if ((c >= 0x20 && c != 0x7F) || c == '\n' || c == '\t') {
            out += text[i];
        }
    }
    return out;
}

std::string show_bytes(std::int64_t bytes) {
    const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < std::size(units)) value /= 1024, ++unit;
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string show_time(std::int64_t unix_ms) {
    const std::time_t seconds = unix_ms / 1000;
    std::tm local = {};
    if (::localtime_r(&seconds, &local) == nullptr) return "?";
    char text[32];
    const std::size_t n = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
    return std::string(text, n);
}

}  // namespace hearth
