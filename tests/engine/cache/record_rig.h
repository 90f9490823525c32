#pragma once
// Records for tests: headers and pages whose content says nothing, but agrees.

#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/cache/kv_record.h"

namespace hearth::test {

struct Record {
    RecordHeader header;
    RecordName name;
    std::vector<std::uint8_t> bytes;  ///< of the whole file
};

inline std::vector<std::int32_t> record_tokens(int n, int salt = 0) {
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < n; ++i) tokens.push_back((i * 31 + salt * 1009) % 5000);
    return tokens;
}

inline Record make_record(Hash128 identity, Hash128 parent, int first,
                          std::vector<std::int32_t> tokens, std::uint32_t page_bytes) {
    Record r;
    r.header.identity = identity;
    r.header.parent = parent;
    r.header.own = chain_hash(parent, tokens);
    r.header.first = first;
    r.header.page_bytes = page_bytes;
    r.header.model_name = "A model";
    const std::size_t n_pages = (tokens.size() + kPageTokens - 1) / kPageTokens;
    std::vector<std::uint8_t> pages(n_pages * page_bytes);
    for (std::size_t i = 0; i < pages.size(); ++i) pages[i] = static_cast<std::uint8_t>(i * 7 + 3);
    for (std::size_t i = 0; i < n_pages; ++i) {
        r.header.page_hashes.push_back(
            hash_bytes(std::span(pages).subspan(i * page_bytes, page_bytes)));
    }
    r.name = {parent.high, r.header.own, static_cast<int>(tokens.size())};
    r.header.tokens = std::move(tokens);
    r.bytes = write_record_header(r.header);
    r.bytes.insert(r.bytes.end(), pages.begin(), pages.end());
    return r;
}

/// Records of consecutive blocks of `tokens`.
inline std::vector<Record> make_chain(Hash128 identity, const std::vector<std::int32_t>& tokens,
                                      std::uint32_t page_bytes) {
    std::vector<Record> chain;
    Hash128 parent = identity;
    for (std::size_t at = 0; at < tokens.size(); at += kBlockTokens) {
        const std::size_t n = std::min<std::size_t>(kBlockTokens, tokens.size() - at);
        const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(at);
        chain.push_back(make_record(identity, parent, static_cast<int>(at),
                                    {begin, begin + static_cast<std::ptrdiff_t>(n)}, page_bytes));
        parent = chain.back().header.own;
    }
    return chain;
}

}  // namespace hearth::test
