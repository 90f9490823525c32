// The tokenizers against reference/tokenizer: ids from llama.cpp and from the published tokenizers.

#include <nlohmann/json.hpp>

#include "tests/engine/text/vocabularies.h"

using namespace hearth;
using namespace hearth::test;
using nlohmann::json;

namespace {

using Ids = std::vector<TokenId>;

json read_json(const std::string& name) {
    return json::parse(read_file(reference_dir() + "/tokenizer/" + name + ".json"));
}

std::string from_hex(const std::string& hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    return bytes;
}

/// Right: the case's ids. Where the reason literal_2581 stands llama.cpp's would do as well; nfc
/// would excuse an engine that does not normalise, which this one does.
bool accepted(const json& line, const char* key, const Ids& ids) {
    const char* right = line.contains(key) ? key : "ids";
    if (line.at(right).get<Ids>() == ids) return true;
    const std::string why = line.value("why", "");
    if (why != "literal_2581") return false;
    const json& other = line.at("llama_cpp");
    return other.at(other.contains(key) ? key : "ids").get<Ids>() == ids;
}

}  // namespace

TEST_CASE("every reference text gives the reference ids", "[text][tokenizer][reference]") {
    const std::string name = GENERATE("smollm2", "qwen2", "gemma3");
    const Tokenizer& tokenizer = real_tokenizer(name);
    const json lines = read_json(name);
    REQUIRE(lines.size() == 394);
    for (const json& line : lines) {
        const auto text = line.at("text").get<std::string>();
        INFO(name << ": " << text);
        const Ids plain = tokenizer.encode(text, false), special = tokenizer.encode(text, true);
        CHECK(accepted(line, "ids", plain));
        CHECK(accepted(line, "ids_special", special));
        // A literal U+2581 cannot be told from a space in a SentencePiece vocabulary.
        if (name != "gemma3" || text.find("\xE2\x96\x81") == std::string::npos) {
            CHECK(tokenizer.decode(special, true) == spelled_text(name, text));
        }
    }
    CHECK(tokenizer.warnings().empty());
}

TEST_CASE("bytes that are not UTF-8 survive the reference vocabularies", "[text][tokenizer]") {
    const json lines = read_json("invalid_utf8");
    REQUIRE(lines.size() > 10);
    for (const json& line : lines) {
        const std::string bytes = from_hex(line.at("hex").get<std::string>());
        INFO(line.dump());
        for (const std::string name : {"qwen2", "gemma3"}) {
            const Tokenizer& tokenizer = real_tokenizer(name);
            CHECK(tokenizer.decode(tokenizer.encode(bytes, false)) == bytes);
        }
        // SmolLM2 cannot spell 21 bytes, 0xFF among them: each becomes U+FFFD, nothing vanishes.
        const Tokenizer& tokenizer = real_tokenizer("smollm2");
        const std::string back = tokenizer.decode(tokenizer.encode(bytes, false));
        CHECK(back.size() >= bytes.size());
        if (bytes == "\xFF") CHECK(back == "\xEF\xBF\xBD");
        if (bytes == "\xF0\x9F\x98") CHECK(back == bytes);
    }
}

TEST_CASE("real vocabularies say how texts begin and end", "[text][tokenizer]") {
    SECTION("smollm2") {
        const Tokenizer& t = real_tokenizer("smollm2");
        CHECK_FALSE(t.wants_bos());
        CHECK(t.eog_ids() == Ids{0, 2});
        CHECK(t.vocab_size() == 49152);
        CHECK(t.with_bos({5}) == Ids{5});
    }
    SECTION("qwen2") {
        const Tokenizer& t = real_tokenizer("qwen2");
        CHECK_FALSE(t.wants_bos());
        CHECK(t.eog_ids() == Ids{151643, 151645});
        CHECK(t.is_control(151644));
        CHECK_FALSE(t.is_control(151657));  // <tool_call> is user-defined
        CHECK(t.piece(151657) == "<tool_call>");
    }
    SECTION("gemma3") {
        const Tokenizer& t = real_tokenizer("gemma3");
        CHECK(t.wants_bos());
        CHECK(t.with_bos({7}) == Ids{2, 7});
        CHECK(t.with_bos({2, 7}) == Ids{2, 7});
        CHECK(t.eog_ids() == Ids{1, 106});
        CHECK(t.piece(106).empty());
        CHECK(t.piece(106, true) == "<end_of_turn>");
        CHECK(t.piece(-1).empty());
        CHECK(t.piece(t.vocab_size(), true).empty());
    }
}

TEST_CASE("spellings of control tokens in text stay text", "[text][tokenizer][injection]") {
    const std::string name = GENERATE("smollm2", "qwen2", "gemma3");
    const Tokenizer& tokenizer = real_tokenizer(name);
    std::string all;
    int controls = 0;
    for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
        if (!tokenizer.is_control(id)) continue;
        const std::string spelling = tokenizer.piece(id, true);
        CHECK(tokenizer.encode(spelling, true) == Ids{id});
        for (const TokenId found : tokenizer.encode(spelling, false)) {
            if (tokenizer.is_control(found)) FAIL("a control token came from " << spelling);
        }
        all += spelling;
        ++controls;
    }
    CHECK(controls >= 17);
    const std::vector<Segment> segments = {{Segment::Origin::control, "<|im_start|>user\n", {}},
                                           {Segment::Origin::text, all, {}},
                                           {Segment::Origin::control, "\n", {}}};
    const Ids ids = tokenizer.encode(segments);
    int found = 0;
    for (const TokenId id : ids) found += tokenizer.is_control(id) ? 1 : 0;
    CHECK(found == (tokenizer.find("<|im_start|>") ? 1 : 0));
    CHECK(tokenizer.decode(ids, true) == "<|im_start|>user\n" + all + "\n");
}

TEST_CASE("random bytes come back from the real vocabularies", "[text][tokenizer]") {
    const std::string name = GENERATE("qwen2", "gemma3");
    const Tokenizer& tokenizer = real_tokenizer(name);
    std::mt19937 random(20261130);
    for (int i = 0; i < 5000; ++i) {
        const std::string text = random_text(random, true);
        const auto ids = tokenizer.encode(text, false);
        if (tokenizer.decode(ids) != spelled_text(name, text)) {
            FAIL(name << ": " << printable_token(text));
        }
    }
}

TEST_CASE("long runs take linear time in the real vocabularies", "[text][tokenizer][long]") {
    const std::string name = GENERATE("smollm2", "qwen2", "gemma3");
    const std::string unit = GENERATE("a", " ", "\xF0\x9F\x98\x80", "A", "\n", "\t", "1", "!",
                                      "\xE4\xBD\xA0", "\xFE", " \n", "a ", "\xCC\x81");
    const bool full_size = unit == "a" || unit == " " || unit.size() == 4;
    const Tokenizer& tokenizer = real_tokenizer(name);
    const std::size_t bytes = full_size ? 10'000'000 : 1'000'000;
    std::string text;
    while (text.size() < bytes) text += unit;
    const auto ids = tokenizer.encode(text, false);
    const bool spells_all = name != "smollm2" || unit != "\xFE";
    if (spells_all) CHECK(tokenizer.decode(ids) == text);
    CHECK_FALSE(ids.empty());
}
