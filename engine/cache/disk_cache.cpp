// DiskCache, the reading half; writing is in disk_cache_write.cpp.

#include "engine/cache/disk_cache.h"

#include <algorithm>
#include <map>

#include "engine/base/check.h"
#include "engine/base/log.h"

namespace hearth {

namespace {

/// Read between two looks at other things: a few ms from memory, 20 ms from a slow disk.
constexpr std::int64_t kReadBytes = 2 << 20;
/// Files that the kernel is told of ahead of the one being read.
constexpr std::size_t kReadAhead = 4;
/// Headers read at a fork of many texts: those used last.
constexpr std::size_t kMostCandidates = 256;

std::size_t index(int n) { return static_cast<std::size_t>(n); }

}  // namespace

/// Records that go on from `parent`; of very many, those used last.
std::vector<const RecordName*> DiskCache::candidates(const std::vector<RecordName>& names,
                                                     const Hash128& parent) const {
    std::vector<const RecordName*> out;
    for (const RecordName& name : names) {
        if (name.parent == parent.high) out.push_back(&name);
    }
    if (out.size() <= kMostCandidates) return out;
    std::vector<std::pair<std::int64_t, const RecordName*>> by_use;
    for (const RecordName* name : out) {
        by_use.emplace_back(-modified_ns(store_.path_of(identity_, *name)), name);
    }
    std::nth_element(by_use.begin(), by_use.begin() + kMostCandidates, by_use.end());
    for (std::size_t i = 0; i < kMostCandidates; ++i) out[i] = by_use[i].second;
    out.resize(kMostCandidates);
    return out;
}

/// The record behind `parent` that begins with most of `rest`, and how much that is.
const RecordName* DiskCache::longest(const std::vector<RecordName>& names, const Hash128& parent,
                                     std::span<const std::int32_t> rest, int& n_common) {
    const RecordName* best = nullptr;
    n_common = 0;
    for (const RecordName* name : candidates(names, parent)) {
        const std::string path = store_.path_of(identity_, *name);
        const auto record = RecordFile::open(path);
        if (!record) {
            remove_damaged(path, record.error().what);
            continue;
        }
        if (record->header().own != name->own) {
            remove_damaged(path, path + ": it holds something else than its name says");
            continue;
        }
        if (record->header().parent != parent) continue;  // it only begins with the same digits
        const std::vector<std::int32_t>& t = record->header().tokens;
        const std::size_t limit = std::min(t.size(), rest.size());
        int n = 0;
        while (index(n) < limit && t[index(n)] == rest[index(n)]) ++n;
        if (n > n_common) best = name, n_common = n;
    }
    return best;
}

DiskCache::Restore DiskCache::find(std::span<const std::int32_t> tokens, int n_known, bool mark) {
    Restore restore;
    if (n_known >= static_cast<int>(tokens.size())) return restore;
    const std::vector<RecordName> names = store_.names(identity_);
    if (names.empty()) return restore;
    std::map<Hash128, const RecordName*> by_own;
    for (const RecordName& name : names) by_own.emplace(name.own, &name);
    std::vector<RecordName> chain;
    Hash128 before = identity_;
    std::size_t at = 0;
    for (; at + kBlockTokens <= tokens.size(); at += kBlockTokens) {
        const Hash128 own = chain_hash(before, tokens.subspan(at, kBlockTokens));
        const auto it = by_own.find(own);
        if (it == by_own.end() || !it->second->is_whole()) break;
        chain.push_back(*it->second);
        const int first = static_cast<int>(at);
        if (first + kBlockTokens > n_known) {
            restore.pieces_.push_back({*it->second, first, kBlockTokens});
        }
        before = own;
    }
    // Nothing more is to be had from a fork that lies in what is known.
    if (static_cast<int>(at) + kBlockTokens > n_known && at < tokens.size()) {
        int n_common = 0;
        const RecordName* end = longest(names, before, tokens.subspan(at), n_common);
        if (end != nullptr) chain.push_back(*end);
        if (end != nullptr && static_cast<int>(at) + n_common > n_known) {
            restore.pieces_.push_back({*end, static_cast<int>(at), n_common});
        }
    }
    for (std::size_t i = 0; i < std::min(kReadAhead, restore.pieces_.size()); ++i) {
        RecordFile::will_read(store_.path_of(identity_, restore.pieces_[i].name));
    }
    if (mark && !chain.empty()) {
        post([this, chain = std::move(chain)] { store_.mark_used(identity_, chain); }, false);
    }
    return restore;
}

/// At once, not by the writer: `save_one` must find it gone when this turn's records are written.
void DiskCache::remove_damaged(const std::string& path, const std::string& why) {
    log(LogLevel::warning, "a cache record is left out and removed: " + why);
    store_.remove(path);
}

void DiskCache::give_up(Restore& restore, const std::string& why) {
    remove_damaged(store_.path_of(identity_, restore.pieces_[restore.next_].name), why);
    restore.clear();
}

/// The next piece is whole and what it should be.
bool DiskCache::open_piece(Restore& restore, const Sequence& seq) {
    const Restore::Piece& piece = restore.pieces_[restore.next_];
    const std::string path = store_.path_of(identity_, piece.name);
    auto file = RecordFile::open(path);
    if (!file) {
        give_up(restore, file.error().what);
        return false;
    }
    const RecordHeader& h = file->header();
    const auto wanted = std::span(seq.tokens).subspan(index(piece.first), index(piece.n_use));
    if (h.identity != identity_ || h.own != piece.name.own || h.parent.high != piece.name.parent ||
        h.first != piece.first || h.page_bytes != kv_.page_bytes_all() ||
        h.tokens.size() < wanted.size() ||
        !std::equal(wanted.begin(), wanted.end(), h.tokens.begin())) {
        give_up(restore, path + ": it holds something else than its name says");
        return false;
    }
    restore.open_ = std::move(*file);
    const std::size_t ahead = restore.next_ + kReadAhead;
    if (ahead < restore.pieces_.size()) {
        RecordFile::will_read(store_.path_of(identity_, restore.pieces_[ahead].name));
    }
    return true;
}

void DiskCache::advance(Restore& restore, Sequence& seq, bool may_evict) {
    if (!restore.is_pending()) return;
    if (!restore.open_.is_open() && !open_piece(restore, seq)) return;
    const Restore::Piece piece = restore.pieces_[restore.next_];
    HEARTH_CHECK(seq.n_cached >= piece.first);
    const auto page_bytes = kv_.page_bytes_all();
    const int end = (piece.n_use + kPageTokens - 1) / kPageTokens;
    const int from = (seq.n_cached - piece.first) / kPageTokens;
    const int n = std::clamp(static_cast<int>(kReadBytes / page_bytes), 1, end - from);
    const int n_covered =
        std::min(piece.first + (from + n) * kPageTokens, piece.first + piece.n_use);
    if (!prefixes_.reserve(seq, n_covered, may_evict)) return restore.clear();
    buffer_.resize(index(n) * static_cast<std::size_t>(page_bytes));
    if (auto read = restore.open_.read_pages(from, n, buffer_); !read) {
        return give_up(restore, read.error().what);
    }
    for (int i = 0; i < n; ++i) {
        const std::int32_t page = seq.pages[index(piece.first / kPageTokens + from + i)];
        HEARTH_CHECK(kv_.pool().n_references(page) == 1);
        kv_.write_page(page, buffer_.data() + index(i) * static_cast<std::size_t>(page_bytes));
    }
    seq.n_cached = n_covered;
    if (n_covered < piece.first + piece.n_use) return;
    restore.open_ = {};
    if (++restore.next_ == restore.pieces_.size()) {
        restore.clear();
        buffer_ = {};
    }
}

}  // namespace hearth
