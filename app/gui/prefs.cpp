#include "app/gui/prefs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace hearth::gui {

Prefs read_prefs(const std::string& path) {
    Prefs prefs;
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    const auto json = nlohmann::json::parse(text.str(), nullptr, false);
    if (!json.is_object()) return prefs;
    const auto flag = [&](const char* name, bool& to) {
        if (json.contains(name) && json[name].is_boolean()) to = json[name].get<bool>();
    };
    const auto number = [&](const char* name, auto& to, double low, double high) {
        if (!json.contains(name) || !json[name].is_number()) return;
        to = static_cast<std::remove_reference_t<decltype(to)>>(
            std::clamp(json[name].get<double>(), low, high));
    };
    if (json.contains("theme") && json["theme"].is_string()) {
        prefs.theme = theme_from_name(json["theme"].get<std::string>());
    }
    number("zoom", prefs.zoom, 0.5, 3);
    number("width", prefs.width, 400, 16000);
    number("height", prefs.height, 300, 16000);
    flag("sidebar", prefs.sidebar);
    flag("inspector", prefs.inspector);
    flag("ctrl_enter_sends", prefs.ctrl_enter_sends);
    return prefs;
}

Result<void> write_prefs(const std::string& path, const Prefs& prefs) {
    const nlohmann::ordered_json json = {{"theme", theme_name(prefs.theme)},
                                         {"zoom", prefs.zoom},
                                         {"sidebar", prefs.sidebar},
                                         {"inspector", prefs.inspector},
                                         {"ctrl_enter_sends", prefs.ctrl_enter_sends},
                                         {"width", prefs.width},
                                         {"height", prefs.height}};
    const std::string text = json.dump(2) + "\n", fresh = path + ".new";
    const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = file >= 0;
    good = good && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    good = good && ::fsync(file) == 0;
    const int reason = errno;
    if (file >= 0) ::close(file);
    if (!good || std::rename(fresh.c_str(), path.c_str()) != 0) {
        return fail(Errc::failed, "the window's state could not be kept in {}: {}", path,
                    std::strerror(good ? errno : reason));
    }
    return {};
}

}  // namespace hearth::gui
