#include "engine/cache/kv_record.h"

#include <cstdlib>
#include <fstream>

#include <catch2/catch.hpp>

#include "engine/cache/record_file.h"
#include "tests/engine/cache/record_rig.h"
#include "tests/support/gguf_writer.h"

namespace hearth {
namespace {

using test::make_record;
using test::record_tokens;

void check_equal(const RecordHeader& a, const RecordHeader& b) {
    CHECK(a.identity == b.identity);
    CHECK(a.parent == b.parent);
    CHECK(a.own == b.own);
    CHECK(a.first == b.first);
    CHECK(a.tokens == b.tokens);
    CHECK(a.page_bytes == b.page_bytes);
    CHECK(a.page_hashes == b.page_hashes);
}

/// The header with a field changed and the checksum made right again.
std::vector<std::uint8_t> forged(std::vector<std::uint8_t> bytes, std::size_t at,
                                 std::uint32_t value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
    const Hash128 sum = hash_bytes(std::span(bytes).first(4080));
    std::memcpy(bytes.data() + 4080, &sum, sizeof sum);
    return bytes;
}

}  // namespace

TEST_CASE("a record's header is read as it was written", "[kv_record]") {
    const int n = GENERATE(1, 15, 16, 17, 255, 256);
    const test::Record r = make_record({7, 9}, {1, 2}, 512, record_tokens(n), 96);
    CHECK(r.bytes.size() == 4096 + static_cast<std::size_t>((n + 15) / 16) * 96);
    const auto read = parse_record_header(r.bytes, static_cast<std::int64_t>(r.bytes.size()));
    REQUIRE(read);
    check_equal(*read, r.header);
    CHECK(read->model_name == "A model");
    // The same content, the same bytes.
    CHECK(make_record({7, 9}, {1, 2}, 512, record_tokens(n), 96).bytes == r.bytes);
}

TEST_CASE("a long name is cut between characters", "[kv_record]") {
    test::Record r = make_record({7, 9}, {7, 9}, 0, record_tokens(3), 96);
    r.header.model_name = std::string(47, 'x') + "é";
    const auto bytes = write_record_header(r.header);
    const auto read = parse_record_header(bytes, r.header.file_bytes());
    REQUIRE(read);
    CHECK(read->model_name == std::string(47, 'x'));
}

TEST_CASE("a header with any changed bit is refused", "[kv_record][damage]") {
    const test::Record r = make_record({7, 9}, {1, 2}, 256, record_tokens(40), 96);
    std::vector<std::uint8_t> bytes(r.bytes.begin(), r.bytes.begin() + 4096);
    const auto size = static_cast<std::int64_t>(r.bytes.size());
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1 << bit));
            if (parse_record_header(bytes, size)) FAIL("byte " << at << " bit " << bit);
            bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1 << bit));
        }
    }
    CHECK(parse_record_header(bytes, size));
}

TEST_CASE("counts that cannot be are refused also with a right checksum", "[kv_record][damage]") {
    const test::Record r = make_record({7, 9}, {1, 2}, 256, record_tokens(40), 96);
    const auto size = static_cast<std::int64_t>(r.bytes.size());
    struct Change {
        std::size_t at;
        std::uint32_t value;
    };
    for (const Change c : {Change{8, 0},
                           {8, 2},
                           {12, 0},
                           {12, 8192},
                           {64, 0xffffffff},
                           {64, 16},
                           {68, 0},
                           {68, 257},
                           {68, 0xffffffff},
                           {68, 39},
                           {72, 0},
                           {72, 2},
                           {72, 0xffffffff},
                           {76, 0},
                           {76, 97},
                           {76, 0xffffffff},
                           {128, 0x7fffffff},
                           {16 + 32, 1}}) {
        CAPTURE(c.at, c.value);
        const auto read = parse_record_header(forged(r.bytes, c.at, c.value), size);
        REQUIRE_FALSE(read);
        CHECK_FALSE(read.error().what.empty());
    }
    CHECK(parse_record_header(forged(r.bytes, 64, 512), size));  // the forger can do it right
    for (const std::int64_t other : {std::int64_t{0}, size - 1, size + 1}) {
        CHECK_FALSE(parse_record_header(r.bytes, other));
    }
    for (const std::size_t n : {0, 1, 127, 4095}) {
        CHECK_FALSE(parse_record_header(std::span(r.bytes).first(n), size));
    }
}

TEST_CASE("names of files are read as they are written, others are none", "[kv_record]") {
    const RecordName name{0x0123456789abcdef, {0xfedcba9876543210, 0x42}, 256};
    CHECK(name.file() == "0123456789abcdef-fedcba98765432100000000000000042-100.kv");
    const auto read = RecordName::parse(name.file());
    REQUIRE(read);
    CHECK(read->parent == name.parent);
    CHECK(read->own == name.own);
    CHECK(read->n_tokens == 256);
    std::string text = name.file();
    for (std::size_t i = 0; i < text.size(); ++i) {
        for (const char c : {'g', '/', ' ', 'A', '\0'}) {
            std::string wrong = text;
            wrong[i] = c;
            if (RecordName::parse(wrong)) FAIL("read " << wrong);
        }
    }
    CHECK_FALSE(RecordName::parse(text + "x"));
    CHECK_FALSE(RecordName::parse(""));
    CHECK_FALSE(RecordName::parse("0123456789abcdef-fedcba98765432100000000000000042-000.kv"));
    CHECK_FALSE(RecordName::parse("0123456789abcdef-fedcba98765432100000000000000042-101.kv"));
}

TEST_CASE("a chain's hash says every token and where they stand", "[kv_record]") {
    const auto tokens = record_tokens(32);
    const Hash128 a = chain_hash({1, 2}, tokens);
    CHECK(a == chain_hash({1, 2}, tokens));
    CHECK(a != chain_hash({1, 3}, tokens));
    CHECK(a != chain_hash({1, 2}, std::span(tokens).first(31)));
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        auto other = tokens;
        other[i] ^= 1;
        CHECK(a != chain_hash({1, 2}, other));
    }
}

TEST_CASE("pages are believed when their checksums are right", "[kv_record][damage]") {
    const std::string folder = test::temporary_folder("record");
    const test::Record r = make_record({7, 9}, {1, 2}, 256, record_tokens(40), 96);
    const std::string path = folder + "/" + r.name.file();
    const auto save = [&](const std::vector<std::uint8_t>& bytes) {
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    };
    save(r.bytes);
    std::vector<std::uint8_t> pages(3 * 96);
    {
        const auto file = RecordFile::open(path);
        REQUIRE(file);
        REQUIRE(file->read_pages(0, 3, pages));
        CHECK(std::equal(pages.begin(), pages.end(), r.bytes.begin() + 4096));
        REQUIRE(file->read_pages(1, 1, std::span(pages).first(96)));
        CHECK(std::equal(pages.begin(), pages.begin() + 96, r.bytes.begin() + 4096 + 96));
    }
    for (std::size_t at = 4096; at < r.bytes.size(); at += 7) {
        auto bytes = r.bytes;
        bytes[at] ^= 4;
        save(bytes);
        const auto file = RecordFile::open(path);
        REQUIRE(file);
        const auto read = file->read_pages(0, 3, pages);
        REQUIRE_FALSE(read);
        CHECK(read.error().what.find("checksum of page") != std::string::npos);
    }
    for (const std::size_t n : {0, 100, 4095, 4096, 4097, 4096 + 287}) {
        save({r.bytes.begin(), r.bytes.begin() + static_cast<std::ptrdiff_t>(n)});
        CHECK_FALSE(RecordFile::open(path));
    }
    CHECK_FALSE(RecordFile::open(folder));
    CHECK_FALSE(RecordFile::open(folder + "/none"));
}

// Seeds for tests/fuzz/corpus/kv_record: generate_tests "[.write_corpus_kv]" with the folder in
// HEARTH_CORPUS.
TEST_CASE("write the corpus of the fuzzer", "[.write_corpus_kv]") {
    const char* folder = std::getenv("HEARTH_CORPUS");
    REQUIRE(folder != nullptr);
    const auto save = [&](const std::string& name, const std::vector<std::uint8_t>& bytes) {
        std::ofstream(std::string(folder) + "/" + name, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    };
    const auto good = make_record({7, 9}, {1, 2}, 256, record_tokens(40), 96).bytes;
    save("good", good);
    save("one_token", make_record({7, 9}, {7, 9}, 0, record_tokens(1), 32).bytes);
    save("whole_block", make_record({7, 9}, {7, 9}, 0, record_tokens(256), 32).bytes);
    save("no_pages", {good.begin(), good.begin() + 4096});
    save("half_header", {good.begin(), good.begin() + 2000});
    save("other_version", forged(good, 8, 2));
    save("too_many_tokens", forged(good, 68, 257));
    save("huge_pages", forged(good, 76, 0xffffffff));
    save("other_token", forged(good, 128, 5));
}

}  // namespace hearth
