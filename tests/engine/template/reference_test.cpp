// Every case of reference/templates: text byte for byte, errors by kind.

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "engine/text/chat_template.h"
#include "tests/engine/template/reference_files.h"

using hearth::ChatTemplate;

namespace {

void check_case(const nlohmann::ordered_json& entry, const std::string& source) {
    const auto result = ChatTemplate::render_json(source, entry["context"]);
    INFO("case " << entry["name"] << ", error: " << result.error);
    if (entry.contains("expected")) {
        CHECK(result.kind == "");
        CHECK(result.text == entry["expected"].get<std::string>());
        return;
    }
    CHECK(result.kind == entry["error_kind"].get<std::string>());
    CHECK(result.text.empty());
    if (result.kind == "raised") {
        CHECK(result.error == entry["error"].get<std::string>());
    } else {
        CHECK(result.error.find("line ") != std::string::npos);
    }
}

}  // namespace

TEST_CASE("features of the template language") {
    const auto cases = hearth::test::read_cases("features.json");
    REQUIRE(cases.size() >= 128);
    for (const auto& entry : cases) check_case(entry, entry["template"].get<std::string>());
}

TEST_CASE("templates of the families") {
    const auto cases = hearth::test::read_cases("cases.json");
    REQUIRE(cases.size() >= 82);
    for (const auto& entry : cases) {
        check_case(entry, hearth::test::read_template(entry["template"].get<std::string>()));
    }
}
