#include "app/environment.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>

namespace hearth {
namespace {

namespace fs = std::filesystem;

/// Folder of the running program; "." when the system does not say.
std::string program_dir() {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    return error ? "." : program.parent_path().string();
}

/// $XDG_…_HOME (absolute, as its specification asks) or the folder under $HOME; then /hearth.
std::string xdg_dir(Environment environment, const char* variable, const char* below_home) {
    std::string base = environment(variable);
    if (base.empty() || base.front() != '/') base = environment("HOME") + below_home;
    return base + "/hearth";
}

/// LM Studio writes the folder that it uses into a file in the home folder.
std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

}  // namespace

const std::vector<EnvironmentVariable>& environment_variables() {
    static const std::vector<EnvironmentVariable> variables = {
        {"HEARTH_DATA_DIR", "folder for chats, own models, history and log (as --data-dir)"},
        {"HEARTH_MODELS", "further folders with models, separated by ':'"},
        {"HEARTH_CONTEXT", "tokens that a chat may hold (as --ctx)"},
        {"HEARTH_KV_TYPE", "f16 or bf16 (as --kv-type)"},
        {"HEARTH_KEEP_ALIVE", "idle time until the model leaves memory (as --keep-alive)"},
        {"HEARTH_CACHE_BUDGET", "disk space for computed prefixes (as --cache-budget)"},
        {"HEARTH_NO_HISTORY", "1 = store nothing (as --no-log)"},
        {"HEARTH_LOG", "what goes to the log file: debug, info, warning, error, off"},
        {"OLLAMA_MODELS", "models of Ollama"},
        {"HF_HUB_CACHE, HF_HOME", "models of the Hugging Face hub"},
        {"LLAMA_CACHE", "models of llama.cpp"},
        {"XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME, XDG_CACHE_HOME",
         "where configuration, chats, history and caches are"},
        {"VISUAL, EDITOR", "editor for long messages"},
        {"DISPLAY, WAYLAND_DISPLAY", "whether there is a place for a window"},
        {"NO_COLOR, TERM", "plain output when NO_COLOR is set or TERM is dumb"},
    };
    return variables;
}

std::string process_environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::vector<std::string> split_path_list(const std::string& list) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(':', at), list.size());
        if (end > at) parts.push_back(list.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

bool prefers_dark(Environment environment) {
    const auto says_dark = [](std::string line) {
        std::transform(line.begin(), line.end(), line.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        const auto value = line.substr(std::min(line.find('='), line.size()));
        if (line.rfind("gtk-application-prefer-dark-theme", 0) == 0) {
            return value == "=1" || value == "=true";
        }
        const bool names_theme =
            line.rfind("gtk-theme-name", 0) == 0 || line.rfind("colorscheme=", 0) == 0;
        return names_theme && value.find("dark") != std::string::npos;
    };
    std::string base = environment("XDG_CONFIG_HOME");
    if (base.empty()) base = environment("HOME") + "/.config";
    for (const char* name : {"/gtk-4.0/settings.ini", "/gtk-3.0/settings.ini", "/kdeglobals"}) {
        std::ifstream file(base + name);
        for (std::string line; std::getline(file, line);) {
            if (says_dark(line)) return true;
        }
    }
    return false;
}

bool has_portable_marker() { return fs::exists(program_dir() + "/hearth.portable"); }

AppPaths find_paths(Environment environment, const std::string& data_dir, bool portable) {
    AppPaths paths;
    std::string folder = data_dir;
    if (folder.empty() && portable) folder = program_dir() + "/data";
    if (folder.empty()) folder = environment("HEARTH_DATA_DIR");
    paths.config_file = xdg_dir(environment, "XDG_CONFIG_HOME", "/.config") + "/config.toml";
    if (!folder.empty()) {
        std::error_code error;
        const fs::path absolute = fs::absolute(folder, error);
        if (!error) folder = absolute.lexically_normal().string();
        while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
        paths.data_dir = folder;
        paths.state_dir = folder + "/state";
        paths.cache_dir = folder + "/cache";
        if (portable) paths.config_file = folder + "/config.toml";
        return paths;
    }
    paths.data_dir = xdg_dir(environment, "XDG_DATA_HOME", "/.local/share");
    paths.state_dir = xdg_dir(environment, "XDG_STATE_HOME", "/.local/state");
    paths.cache_dir = xdg_dir(environment, "XDG_CACHE_HOME", "/.cache");
    return paths;
}

ModelPlaces find_places(Environment environment, const AppPaths& paths) {
    ModelPlaces places;
    const std::string home = environment("HOME");
    places.own = split_path_list(environment("HEARTH_MODELS"));
    places.own.push_back(paths.own_models());

    const std::string ollama = environment("OLLAMA_MODELS");
    places.ollama.push_back(ollama.empty() ? home + "/.ollama/models" : ollama);
    places.ollama.push_back("/usr/share/ollama/.ollama/models");

    const std::string pointed = first_line(home + "/.lmstudio-home-pointer");
    places.lm_studio.push_back((pointed.empty() ? home + "/.lmstudio" : pointed) + "/models");
    places.lm_studio.push_back(home + "/.cache/lm-studio/models");

    std::string hub = environment("HF_HUB_CACHE");
    const std::string hf_home = environment("HF_HOME");
    if (hub.empty() && !hf_home.empty()) hub = hf_home + "/hub";
    places.hub.push_back(hub.empty() ? home + "/.cache/huggingface/hub" : hub);

    const std::string llama = environment("LLAMA_CACHE");
    places.llama_cpp.push_back(llama.empty() ? home + "/.cache/llama.cpp" : llama);
    return places;
}

Result<void> make_private_dir(const std::string& path) {
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string part = path.substr(0, end);
        if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
            return fail(Errc::failed, "cannot make the folder {}: {}", part, std::strerror(errno));
        }
        if (end == std::string::npos) break;
    }
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
        return fail(Errc::failed, "{} is not a folder", path);
    }
    return {};
}

}  // namespace hearth
