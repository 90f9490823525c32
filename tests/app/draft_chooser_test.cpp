// What the setting `draft` means: no model unless asked for, and a sentence where there is none.

#include "app/draft_chooser.h"

#include <catch2/catch.hpp>

#include "tests/support/tiny_model.h"

namespace hearth {
namespace {

std::string write(const std::string& folder, const char* name, int n_layers,
                  test::TinyVocabulary vocabulary = test::TinyVocabulary::bpe) {
    test::TinyOptions o;
    o.n_layers = n_layers;
    o.vocabulary = vocabulary;
    return test::write_tiny_model(folder + "/" + name + ".gguf", o);
}

}  // namespace

TEST_CASE("the setting draft is off, look-up, a name, or what this machine has", "[app][draft]") {
    ModelPlaces places;
    places.own = {test::temporary_folder("drafts")};
    const std::string target = write(places.own[0], "large", 30);
    DraftChooser chooser(places);
    std::vector<std::string> notes;
    const DraftChoice off = chooser.choose("off", target, notes);
    CHECK_FALSE(off.lookup);
    CHECK(off.model_path.empty());
    const DraftChoice lookup = chooser.choose("lookup", target, notes);
    CHECK(lookup.lookup);
    CHECK(lookup.model_path.empty());
    CHECK(notes.empty());

    const DraftChoice unknown = chooser.choose("nobody", target, notes);
    CHECK(unknown.lookup);
    CHECK(unknown.model_path.empty());
    REQUIRE(notes.size() == 1);
    CHECK(notes[0].find("nobody") != std::string::npos);
    chooser.choose("nobody", target, notes);
    CHECK(notes.size() == 1);  // said once

    write(places.own[0], "spm", 1, test::TinyVocabulary::spm);
    CHECK(chooser.choose("auto", target, notes).model_path.empty());
    REQUIRE(notes.size() == 2);
    CHECK(notes[1].find("none of the") == 0);

    const std::string small = write(places.own[0], "small", 1);
    CHECK(chooser.choose("small", target, notes).model_path == small);
    CHECK(chooser.choose("auto", target, notes).model_path == small);
    CHECK(notes.size() == 2);
    const auto found = find_drafts(target, places);
    REQUIRE(found);
    REQUIRE(found->size() == 2);
    CHECK((*found)[1].refusal.find("different kinds") != std::string::npos);
}

}  // namespace hearth
