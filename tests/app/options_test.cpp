#include "app/options.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <unistd.h>

using namespace hearth;

namespace {

std::map<std::string, std::string> variables;

/// The environment of a test: what it sets, and a HOME that does not exist.
std::string test_environment(const char* name) {
    const auto found = variables.find(name);
    if (found != variables.end()) return found->second;
    return std::string(name) == "HOME" ? "/nowhere/home" : "";
}

ParsedOptions parse(std::vector<std::string> arguments,
                    std::map<std::string, std::string> environment = {}) {
    variables = std::move(environment);
    return parse_options(std::move(arguments), test_environment);
}

Options parsed(std::vector<std::string> arguments,
               std::map<std::string, std::string> environment = {}) {
    const ParsedOptions result = parse(std::move(arguments), std::move(environment));
    INFO(result.text);
    REQUIRE_FALSE(result.exit_code);
    return result.options;
}

}  // namespace

TEST_CASE("every way to run a model", "[app][options]") {
    using Words = std::vector<std::string>;
    const Words arguments = GENERATE(
        Words{"run", "m", "hello", "you"}, Words{"chat", "m", "hello you"},
        Words{"run", "-m", "m", "-p", "hello you"}, Words{"-m", "m", "-p", "hello you"},
        Words{"run", "--model=m", "hello you"}, Words{"--no-log", "run", "m", "hello you"},
        Words{"run", "m", "--temp", "0", "hello you"}, Words{"run", "m", "--", "hello you"},
        Words{"-q", "-m", "m", "hello you"}, Words{"run", "m", "-f", "x", "-f", "y", "hello you"});
    const Options o = parsed(arguments);
    CHECK(o.verb == Verb::run);
    CHECK(o.model == "m");
    CHECK(o.prompt == "hello you");
}

TEST_CASE("prompts that look like something else", "[app][options]") {
    CHECK(parsed({"run", "m", "-"}).prompt == "-");
    CHECK(parsed({"run", "m", "ls"}).prompt == "ls");
    CHECK(parsed({"run", "m", "help"}).prompt == "help");
    CHECK(parsed({"run", "m", "[1, 2, 3]"}).prompt == "[1, 2, 3]");
    CHECK(parsed({"run", "m", "-5 + 3"}).prompt == "-5 + 3");
    CHECK(parsed({"run", "m", "--", "--json"}).prompt == "--json");
    CHECK(parsed({"run", "m", "-p", "[a,b]"}).prompt == "[a,b]");
    CHECK(parsed({"run", "m", ""}).prompt == "");
    CHECK(parsed({"run", "m", "caf\xE9"}).prompt == "caf\uFFFD");
    CHECK_FALSE(parsed({"run", "m"}).prompt);
    CHECK_FALSE(parsed({}).prompt);
    CHECK(parsed({"/x/y.gguf"}).model == "/x/y.gguf");
}

TEST_CASE("flags of run", "[app][options]") {
    const Options o = parsed({"run",     "m",           "--stop", "a",      "--stop",
                              "b",       "-f",          "1",      "--file", "2",
                              "-s",      "be kind",     "--chat", "work",   "--json",
                              "--stats", "--no-stream", "--seed", "7",      "--max-tokens",
                              "-1",      "--ctx-size",  "4k",     "-t",     "2"});
    const Settings s = resolve_settings(o.settings);
    CHECK(s.sampling.stop == std::vector<std::string>{"a", "b"});
    CHECK(o.files == std::vector<std::string>{"1", "2"});
    CHECK(o.system == "be kind");
    CHECK(o.chat == "work");
    CHECK(o.json);
    CHECK(o.stats);
    CHECK_FALSE(o.stream);
    CHECK(s.sampling.seed == 7);
    CHECK_FALSE(s.random_seed);
    CHECK(s.sampling.max_tokens == -1);
    CHECK(s.engine.context_tokens == 4096);
    CHECK(s.engine.n_threads == 2);
    CHECK(parsed({"run", "m", "--ids", "1, 2,3", "--raw"}).ids ==
          std::vector<std::int32_t>{1, 2, 3});
    CHECK(parsed({"run", "m", "-c"}).continue_chat);
}

TEST_CASE("mistakes in argv are exit code 2 and name the mistake", "[app][options]") {
    using Row = std::pair<std::vector<std::string>, const char*>;
    const auto [arguments, word] = GENERATE(values<Row>({
        {{"rnu", "m"}, "did you mean run"},
        {{"llama"}, "hearth run llama"},
        {{"run", "m", "--tmep", "1"}, "--temp"},
        {{"run", "m", "--temp", "hot"}, "--temp"},
        {{"run", "m", "--temp"}, "--temp"},
        {{"run", "m", "x", "-p", "y"}, "twice"},
        {{"run", "m", "--ids", "1"}, "--raw"},
        {{"run", "m", "--ids", "1,x", "--raw"}, "x"},
        {{"run", "m", "-c", "--chat", "a"}, "--chat"},
        {{"run", "m", "--kv-type", "q8_0"}, "not there yet"},
        {{"run", "m", "--draft", ""}, "--draft"},
        {{"run", "m", "--draft-max", "4"}, "not there yet"},
        {{"run", "m", "-ngl", "99"}, "not there yet"},
        {{"run", "m", "--overflow", "newest"}, "drop-oldest"},
        {{"run", "m", "--gpu-layers=all"}, "not there yet"},
        {{"pull", "x"}, "not there yet"},
        {{"serve"}, "not there yet"},
        {{"show"}, "model"},
        {{"bench"}, "model"},
        {{"rm"}, "conversation"},
        {{"search"}, "text"},
        {{"ls", "x"}, "too many"},
        {{"inspect"}, "tokenize"},
        {{"inspect", "tokenize"}, "model"},
        {{"inspect", "detokenize", "m"}, "--ids"},
        {{"inspect", "nll", "m"}, "file"},
        {{"inspect", "template", "m"}, "--context"},
        {{"inspect", "logits", "m", "--ids", "1", "--positions", "some"}, "--positions"},
        {{"inspect", "logits", "m", "--ids", "@/no/such"}, "/no/such"},
    }));
    const ParsedOptions result = parse(arguments);
    INFO(arguments[0] << ": " << result.text);
    CHECK(result.exit_code == 2);
    CHECK(result.text.find(word) != std::string::npos);
}

TEST_CASE("inspect and the other verbs", "[app][options]") {
    const Options logits = parsed({"inspect", "logits", "m", "--ids", "5,6", "--top", "3",
                                   "--positions", "all", "--chunk", "7", "--threads", "1"});
    CHECK(logits.topic == "logits");
    CHECK(logits.ids == std::vector<std::int32_t>{5, 6});
    CHECK(logits.top == 3);
    CHECK(logits.all_positions);
    CHECK(logits.chunk == 7);
    CHECK(resolve_settings(logits.settings).engine.n_threads == 1);
    CHECK(parsed({"inspect", "nll", "m", "f"}).target == "f");
    CHECK(parsed({"inspect", "template", "--template-file", "t", "--context", "c"}).model.empty());
    CHECK(parsed({"inspect", "tokenize", "m", "--special"}).special);
    CHECK(*parsed({"bench", "m", "--contexts", "0,16"}).contexts == std::vector<int>{0, 16});
    CHECK(parsed({"bench", "m", "--columns", "none"}).columns->empty());
    CHECK_FALSE(parsed({"bench", "m"}).prompts.has_value());
    CHECK(parsed({"show", "m", "template"}).topic == "template");
    CHECK(parsed({"list", "--json"}).json);
    CHECK(parsed({"--json", "ls"}).verb == Verb::ls);
    CHECK(parsed({"logs", "3"}).target == "3");
    CHECK(parsed({"search", "世界"}).query == "世界");
    CHECK(parsed({"rm", "--undo"}).undo);
}

TEST_CASE("help and version", "[app][options]") {
    CHECK(parse({"--version"}).exit_code == 0);
    CHECK(parse({"version"}).text.rfind("hearth ", 0) == 0);
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"help"}, {"-h"}, {"--help"}, {"help", "run"}, {"run", "--help"}, {"run", "-h"}}) {
        CHECK(parse(arguments).exit_code == 0);
        CHECK(parse(arguments).text.find("run") != std::string::npos);
    }
    const std::string text = parse({"help"}).text;
    for (const char* name :
         {"HEARTH_DATA_DIR", "HEARTH_MODELS", "HEARTH_CONTEXT", "HEARTH_KV_TYPE",
          "HEARTH_KEEP_ALIVE", "HEARTH_NO_HISTORY", "HEARTH_LOG", "OLLAMA_MODELS", "HF_HOME",
          "HF_HUB_CACHE", "LLAMA_CACHE", "XDG_STATE_HOME", "NO_COLOR"}) {
        CHECK(text.find(name) != std::string::npos);
    }
}

TEST_CASE("paths follow XDG; empty and relative variables count as unset", "[app][options]") {
    const AppPaths plain = parsed({"paths"}).paths;
    CHECK(plain.config_file == "/nowhere/home/.config/hearth/config.toml");
    CHECK(plain.data_dir == "/nowhere/home/.local/share/hearth");
    CHECK(plain.state_dir == "/nowhere/home/.local/state/hearth");
    CHECK(plain.cache_dir == "/nowhere/home/.cache/hearth");
    const AppPaths xdg =
        parsed({"paths"},
               {{"XDG_DATA_HOME", "/d"}, {"XDG_STATE_HOME", ""}, {"XDG_CACHE_HOME", "relative"}})
            .paths;
    CHECK(xdg.data_dir == "/d/hearth");
    CHECK(xdg.state_dir == plain.state_dir);
    CHECK(xdg.cache_dir == plain.cache_dir);
    const AppPaths flag = parsed({"paths", "--data-dir", "/e/"}, {{"HEARTH_DATA_DIR", "/f"}}).paths;
    CHECK(flag.data_dir == "/e");
    CHECK(flag.state_dir == "/e/state");
    CHECK(parsed({"paths"}, {{"HEARTH_DATA_DIR", "/f"}}).paths.data_dir == "/f");
}

TEST_CASE("models are looked for where other programs keep them", "[app][options]") {
    const ModelPlaces plain = parsed({"ls"}).places;
    CHECK(plain.ollama.front() == "/nowhere/home/.ollama/models");
    CHECK(plain.hub.front() == "/nowhere/home/.cache/huggingface/hub");
    CHECK(plain.llama_cpp.front() == "/nowhere/home/.cache/llama.cpp");
    const ModelPlaces set = parsed({"ls"}, {{"HEARTH_MODELS", "/a::/b"},
                                            {"OLLAMA_MODELS", "/o"},
                                            {"HF_HOME", "/h"},
                                            {"LLAMA_CACHE", "/l"}})
                                .places;
    CHECK(set.own[0] == "/a");
    CHECK(set.own[1] == "/b");
    CHECK(set.ollama.front() == "/o");
    CHECK(set.hub.front() == "/h/hub");
    CHECK(set.llama_cpp.front() == "/l");
    CHECK(parsed({"ls"}, {{"HF_HOME", "/h"}, {"HF_HUB_CACHE", "/c"}}).places.hub.front() == "/c");
}

TEST_CASE("environment values are checked and come below flags", "[app][options]") {
    const Options o = parsed(
        {"run", "m", "--ctx", "512"},
        {{"HEARTH_CONTEXT", "1024"}, {"HEARTH_KEEP_ALIVE", "never"}, {"HEARTH_NO_HISTORY", "1"}});
    CHECK(resolve_settings(o.settings).engine.context_tokens == 512);
    CHECK(resolve_settings(o.settings).engine.keep_alive_s == -1);
    CHECK(o.no_log);
    CHECK_FALSE(parsed({"run", "m"}, {{"HEARTH_NO_HISTORY", "0"}}).no_log);
    CHECK_FALSE(parsed({"run", "m"}, {{"HEARTH_NO_HISTORY", ""}}).no_log);
    const ParsedOptions bad = parse({"run", "m"}, {{"HEARTH_CONTEXT", "many"}});
    CHECK(bad.exit_code == 2);
    CHECK(bad.text.find("HEARTH_CONTEXT") != std::string::npos);
}

TEST_CASE("the config file: values, unknown keys, broken syntax", "[app][options]") {
    const std::string folder =
        (std::filesystem::temp_directory_path() / fmt::format("hearth-config-{}", ::getpid()))
            .string();
    std::filesystem::create_directories(folder + "/hearth");
    const auto with_config = [&](const std::string& text) {
        std::ofstream(folder + "/hearth/config.toml") << text;
        return parsed({"run"}, {{"XDG_CONFIG_HOME", folder}});
    };
    const Options good = with_config(
        "# mine\nmodel = 'smol'\nsystem = \"be brief\"\nmodels = ['/m1', '/m2']\n"
        "temperature = 0.5\ntop_k = 3\nstop = ['x', 'y']\nignore_eos = true\ncontext = '4k'\n");
    const Settings s = resolve_settings(good.settings);
    CHECK(good.warnings.empty());
    CHECK(good.default_model == "smol");
    CHECK(good.default_system == "be brief");
    CHECK(good.places.own.front() == "/m1");
    CHECK(s.sampling.temperature == 0.5f);
    CHECK(s.sampling.top_k == 3);
    CHECK(s.sampling.stop == std::vector<std::string>{"x", "y"});
    CHECK(s.sampling.ignore_eos);
    CHECK(s.engine.context_tokens == 4096);

    const Options unknown = with_config("temprature = 1\ntop_k = 'x'\nmin_p = 0.5\n");
    REQUIRE(unknown.warnings.size() == 2);
    CHECK(unknown.warnings[0].find("temprature") != std::string::npos);
    CHECK(unknown.warnings[1].find("top_k") != std::string::npos);
    CHECK(resolve_settings(unknown.settings).sampling.min_p == 0.5f);

    const Options broken = with_config("temperature = \n");
    REQUIRE(broken.warnings.size() == 1);
    CHECK(broken.warnings[0].find("line 1") != std::string::npos);
    std::filesystem::remove_all(folder);
}

TEST_CASE("folders are made for their user alone", "[app][options]") {
    const std::string folder =
        (std::filesystem::temp_directory_path() / fmt::format("hearth-dirs-{}", ::getpid()))
            .string();
    REQUIRE(make_private_dir(folder + "/a/b"));
    REQUIRE(make_private_dir(folder + "/a/b"));
    const auto mode = std::filesystem::status(folder + "/a/b").permissions();
    CHECK(mode == std::filesystem::perms::owner_all);
    std::ofstream(folder + "/file") << "x";
    CHECK_FALSE(make_private_dir(folder + "/file/below"));
    CHECK_FALSE(make_private_dir(folder + "/file"));
    std::filesystem::remove_all(folder);
}
