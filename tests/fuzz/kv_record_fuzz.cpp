// Any bytes as a cache record: refused with a sentence, or a header whose every count holds and
// that reads the same when it is written again. Corpus: tests/fuzz/corpus/kv_record, written by the
// test "[.write_corpus_kv]" of generate_tests.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "engine/cache/kv_record.h"

namespace {

void demand(bool ok) {
    if (!ok) std::abort();
}

void check_header(const hearth::RecordHeader& h, const std::vector<std::uint8_t>& bytes) {
    const auto n = h.tokens.size();
    demand(n >= 1 && n <= hearth::kBlockTokens && h.first >= 0);
    demand(h.page_hashes.size() == (n + hearth::kPageTokens - 1) / hearth::kPageTokens);
    demand(h.file_bytes() == static_cast<std::int64_t>(bytes.size()));
    const hearth::RecordName name{h.parent.high, h.own, static_cast<int>(n)};
    const auto read = hearth::RecordName::parse(name.file());
    demand(read && read->own == h.own && read->parent == h.parent.high);
    const auto again = hearth::write_record_header(h);
    const auto same = hearth::parse_record_header(again, h.file_bytes());
    demand(same && same->own == h.own && same->tokens == h.tokens);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    std::vector<std::uint8_t> bytes(data, data + size);  // exact bounds for the sanitizer
    // With its checksum as it is, then made right, so that the counts behind it are reached.
    for (const bool repaired : {false, true}) {
        if (repaired && size >= hearth::kRecordHeaderBytes) {
            const auto at = hearth::kRecordHeaderBytes - sizeof(hearth::Hash128);
            const auto sum = hearth::hash_bytes(std::span(bytes).first(at));
            std::memcpy(bytes.data() + at, &sum, sizeof sum);
        }
        const auto header =
            hearth::parse_record_header(bytes, static_cast<std::int64_t>(bytes.size()));
        if (header)
            check_header(*header, bytes);
        else
            demand(!header.error().what.empty());
    }
    const std::string text(reinterpret_cast<const char*>(data), size);
    if (const auto name = hearth::RecordName::parse(text)) demand(name->file() == text);
    return 0;
}
