#include "app/model_cards.h"

#include <algorithm>
#include <string_view>

namespace hearth {
namespace {

struct Card {
    std::string_view name;  ///< part of the model's name, small letters and digits only
    const char *temperature, *top_k, *top_p, *min_p;  ///< "" = as built in
};

constexpr Card kCards[] = {
    {"smollm2", "0.2", "", "0.9", ""},   // model card: temperature 0.2, top_p 0.9
    {"qwen25", "0.7", "20", "0.8", ""},  // generation_config.json
    {"qwen3", "0.6", "20", "0.95", "0"}, {"gemma3", "1", "64", "0.95", "0"},
    {"llama3", "0.6", "", "0.9", ""},
};

std::string letters_and_digits(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c >= 'A' && c <= 'Z') out += static_cast<char>(c + 32);
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
    }
    return out;
}

}  // namespace

SettingLayer settings_from_card(const std::vector<std::pair<std::string, std::string>>& metadata) {
    std::string name, base;
    for (const auto& [key, value] : metadata) {
        if (key == "general.name") name = letters_and_digits(value);
        if (key == "general.basename") base = letters_and_digits(value);
    }
    SettingLayer layer;
    for (const Card& card : kCards) {
        if (base.find(card.name) == base.npos && name.find(card.name) == name.npos) continue;
        const std::pair<const char*, const char*> values[] = {{"temperature", card.temperature},
                                                              {"top_k", card.top_k},
                                                              {"top_p", card.top_p},
                                                              {"min_p", card.min_p}};
        for (const auto& [setting, value] : values) {
            if (*value != '\0') (void)put_setting(layer, setting, value);
        }
        break;
    }
    return layer;
}

}  // namespace hearth
