#include "app/settings.h"

#include <catch2/catch.hpp>

#include "app/model_cards.h"
#include "app/setting_values.h"

using namespace hearth;

namespace {

SettingValue value_of(const SettingLayers& layers, const std::string& name) {
    for (const SettingValue& value : describe_settings(layers)) {
        if (value.name == name) return value;
    }
    FAIL("no setting " << name);
    return {};
}

}  // namespace

TEST_CASE("the built-in values are the documented ones", "[app][settings]") {
    const Settings s = resolve_settings({});
    CHECK(s.sampling.temperature == 0.8f);
    CHECK(s.sampling.top_k == 40);
    CHECK(s.sampling.top_p == 0.95f);
    CHECK(s.sampling.min_p == 0.05f);
    CHECK(s.sampling.repeat_penalty == 1.0f);
    CHECK(s.sampling.max_tokens == -1);
    CHECK(s.random_seed);
    CHECK(value_of({}, "temperature").origin == Origin::built_in);
}

TEST_CASE("flag beats environment beats chat beats config beats model file", "[app][settings]") {
    SettingLayers layers;
    layers.model_file = {{"temperature", "0.1"}};
    layers.config = {{"temperature", "0.2"}};
    layers.chat = {{"temperature", "0.3"}};
    layers.environment = {{"temperature", "0.4"}};
    layers.flag = {{"temperature", "0.5"}};
    SettingLayer* strongest_first[] = {&layers.flag, &layers.environment, &layers.chat,
                                       &layers.config, &layers.model_file};
    const char* values[] = {"0.5", "0.4", "0.3", "0.2", "0.1"};
    const Origin origins[] = {Origin::flag, Origin::environment, Origin::chat, Origin::config,
                              Origin::model_file};
    for (int i = 0; i < 5; ++i) {
        CHECK(value_of(layers, "temperature").value == values[i]);
        CHECK(value_of(layers, "temperature").origin == origins[i]);
        strongest_first[i]->clear();
    }
    CHECK(value_of(layers, "temperature").value == "0.8");
}

TEST_CASE("a known family brings what its makers recommend, weaker than its file",
          "[app][settings]") {
    SettingLayers layers;
    layers.model_card = settings_from_card({{"general.name", "Smollm2 135M 8k"}});
    CHECK(value_of(layers, "temperature").value == "0.2");
    CHECK(value_of(layers, "temperature").origin == Origin::model_card);
    CHECK(value_of(layers, "top_k").origin == Origin::built_in);
    layers.model_file = {{"temperature", "0.5"}};
    CHECK(value_of(layers, "temperature").origin == Origin::model_file);
    CHECK(settings_from_card({{"general.basename", "Qwen2.5-Coder"}}).at("top_p") == "0.8");
    CHECK(settings_from_card({{"general.name", "Gemma 3 270m"}}).at("top_k") == "64");
    CHECK(settings_from_card({{"general.name", "Nobody's model"}}).empty());
    // Greedy answers must not depend on it.
    for (const char* name : {"smollm2", "qwen2.5", "qwen3", "gemma-3", "llama-3"}) {
        for (const auto& [key, value] : settings_from_card({{"general.name", name}})) {
            CHECK((key == "temperature" || key == "top_k" || key == "top_p" || key == "min_p"));
        }
    }
}

TEST_CASE("every setting reads what it shows", "[app][settings]") {
    for (const SettingRow& row : setting_rows()) {
        if (std::string(row.name) == "template") continue;  // shown as a description
        const std::string shown = row.get(Settings{});
        Settings again;
        INFO(row.name << " = " << shown);
        CHECK(row.set(again, shown));
        CHECK(row.get(again) == shown);
    }
}

TEST_CASE("names of other programs work", "[app][settings]") {
    for (const auto& [theirs, ours] :
         std::vector<std::pair<const char*, const char*>>{{"num_ctx", "context"},
                                                          {"num_predict", "max_tokens"},
                                                          {"temp", "temperature"},
                                                          {"Top-K", "top_k"},
                                                          {"num_thread", "threads"}}) {
        REQUIRE(find_setting(theirs) != nullptr);
        CHECK(std::string(find_setting(theirs)->name) == ours);
    }
    CHECK(find_setting("nonsense") == nullptr);
}

TEST_CASE("bad values are a sentence of kind usage and change nothing", "[app][settings]") {
    const auto [name, value] = GENERATE(table<const char*, const char*>({
        {"temperature", "hot"},
        {"temperature", "-1"},
        {"temperature", "nan"},
        {"temperature", ""},
        {"top_p", "1.5"},
        {"top_k", "4x"},
        {"seed", "99999999999999999999"},
        {"kv_type", "q8_0"},
        {"kv_type", "f32"},
        {"isa", "sse"},
        {"keep_alive", "soon"},
        {"context", "8q"},
        {"logit_bias", "5"},
        {"template", "/no/such/file.jinja"},
        {"nonsense", "1"},
    }));
    SettingLayer layer;
    const auto put = put_setting(layer, name, value);
    INFO(name << " " << value);
    REQUIRE_FALSE(put);
    CHECK(put.error().code == Errc::usage);
    CHECK(put.error().what.find("expected") + put.error().what.find("there") > 0);
    CHECK(layer.empty());
}

TEST_CASE("values with units", "[app][settings]") {
    SettingLayers layers;
    REQUIRE(put_setting(layers.flag, "context", "8k"));
    REQUIRE(put_setting(layers.flag, "keep_alive", "5m"));
    REQUIRE(put_setting(layers.flag, "stop", R"(["a\n","b"])"));
    REQUIRE(put_setting(layers.flag, "logit_bias", "42=-5,7=1.5"));
    const Settings s = resolve_settings(layers);
    CHECK(s.engine.context_tokens == 8192);
    CHECK(s.engine.keep_alive_s == 300);
    CHECK(s.sampling.stop == std::vector<std::string>{"a\n", "b"});
    CHECK(s.sampling.logit_bias ==
          std::vector<std::pair<std::int32_t, float>>{{42, -5.0f}, {7, 1.5f}});
    CHECK(read_strings("x\\ny")->front() == "x\ny");
    CHECK(read_strings("[not json")->front() == "[not json");
}

TEST_CASE("a chat's settings survive the database", "[app][settings]") {
    SettingLayer layer;
    REQUIRE(put_setting(layer, "temp", "0.25"));
    REQUIRE(put_setting(layer, "stop", "界"));
    CHECK(settings_from_json(settings_to_json(layer)) == layer);
    CHECK(settings_from_json("").empty());
    CHECK(settings_from_json("[1,2]").empty());
    // Rows that a newer version wrote, or damage: left out, never an error.
    CHECK(settings_from_json(R"({"future":"1","temperature":"hot","top_k":"7"})") ==
          SettingLayer{{"top_k", "7"}});
}

TEST_CASE("a model file lends its sampling values", "[app][settings]") {
    const SettingLayer layer = settings_from_metadata({{"general.name", "x"},
                                                       {"general.sampling.temp", "0.600000"},
                                                       {"general.sampling.top_k", "20"},
                                                       {"general.sampling.top_p", "wrong"}});
    CHECK(layer == SettingLayer{{"temperature", "0.600000"}, {"top_k", "20"}});
}
