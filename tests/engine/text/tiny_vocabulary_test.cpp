// The vocabularies of the seeded tiny models are good for whole-program tests.

#include "tests/engine/text/vocabularies.h"
#include "tests/support/tiny_model.h"

using namespace hearth;
using namespace hearth::test;

TEST_CASE("tiny models have vocabularies that spell everything", "[text][tokenizer]") {
    TinyOptions options;
    options.vocabulary = GENERATE(TinyVocabulary::bpe, TinyVocabulary::spm);
    const Bytes bytes = tiny_model(options);
    const auto file = WeightFile::parse(bytes, "tiny.gguf");
    REQUIRE(file);
    auto vocabulary = (*file)->vocabulary();
    REQUIRE(vocabulary);
    const auto t = make_tokenizer(std::move(*vocabulary));
    CHECK(t->warnings().empty());
    REQUIRE(t->find("<|im_end|>"));
    CHECK(t->is_eog(*t->find("<|im_end|>")));
    std::mt19937 random(9);
    for (int i = 0; i < 500; ++i) {
        const std::string text = random_text(random, true);
        if (t->decode(t->encode(text, false)) != text) FAIL(printable_token(text));
    }
}
