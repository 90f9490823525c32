// DiskCache, the writing half: turns that ended become records, in the background.

#include <algorithm>
#include <exception>
#include <utility>

#include <signal.h>

#include "engine/base/check.h"
#include "engine/base/log.h"
#include "engine/cache/disk_cache.h"

namespace hearth {

namespace {

/// Turns that wait to be written; of more, the oldest stays unwritten.
constexpr std::size_t kMostPending = 64;

std::span<const std::int32_t> block_of(const std::vector<std::int32_t>& tokens, std::size_t block) {
    const std::size_t at = block * kBlockTokens;
    return std::span(tokens).subspan(at, std::min<std::size_t>(kBlockTokens, tokens.size() - at));
}

/// "" or what a library threw.
std::string run_task(const std::function<void()>& task) {
    try {
        task();
    } catch (const std::exception& e) {
        return e.what();
    }
    return "";
}

}  // namespace

DiskCache::DiskCache(RecordStore store, Hash128 identity, std::string model_name, KvCache& kv,
                     PrefixCache& prefixes)
    : store_(std::move(store)),
      identity_(identity),
      model_name_(std::move(model_name)),
      kv_(kv),
      prefixes_(prefixes),
      writer_([this] { run(); }) {}

DiskCache::~DiskCache() {
    {
        const std::lock_guard lock(mutex_);
        quit_ = true;
    }
    changed_.notify_all();
    writer_.join();
}

void DiskCache::set_wake(std::function<void()> wake) {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
}

std::string DiskCache::take_notice() {
    const std::lock_guard lock(mutex_);
    return std::exchange(notice_, "");
}

// --- the engine thread ---------------------------------------------------------------------------

void DiskCache::note(const std::string& conversation, std::span<const std::int32_t> tokens) {
    // What stands behind the end of a text stays here: it may be of another one.
    if (!kv_.can_blank()) tokens = tokens.first(tokens.size() / kPageTokens * kPageTokens);
    if (tokens.empty()) return;
    {
        const std::lock_guard lock(mutex_);
        if (pending_.empty() && n_blocks_ == 0) abandoned_.clear();
    }
    // An earlier turn of the same text is part of this one.
    std::erase_if(pending_, [&](const Pending& p) {
        return p.conversation == conversation && p.tokens.size() <= tokens.size() &&
               std::equal(p.tokens.begin(), p.tokens.end(), tokens.begin());
    });
    if (pending_.size() == kMostPending) pending_.pop_front();
    pending_.push_back({++last_serial_, conversation, {tokens.begin(), tokens.end()}});
}

bool DiskCache::can_save() {
    if (pending_.empty()) return false;
    const std::lock_guard lock(mutex_);
    return n_blocks_ < kWaitingBlocks;
}

Hash128 DiskCache::parent_of(const Pending& p, std::size_t block) const {
    return block == 0 ? identity_ : p.chain[block - 1];
}

RecordName DiskCache::name_of(const Pending& p, std::size_t block) const {
    return {parent_of(p, block).high, p.chain[block],
            static_cast<int>(block_of(p.tokens, block).size())};
}

/// The list of the conversation comes before its records: a kill in between leaves none without.
void DiskCache::begin(Pending& p) {
    Hash128 before = identity_;
    for (std::size_t at = 0; at < p.tokens.size(); at += kBlockTokens) {
        before = chain_hash(before, block_of(p.tokens, at / kBlockTokens));
        p.chain.push_back(before);
    }
    post(
        [this, conversation = p.conversation, own = p.chain] {
            const auto claimed = store_.claim(identity_, conversation, own);
            if (claimed) return;
            const std::lock_guard lock(mutex_);
            stop_writing(claimed.error().what);
        },
        false);
}

/// A record of the next block that is not on disk; empty when there is none, or its pages are gone.
std::vector<std::uint8_t> DiskCache::copy_block(const Pending& p, RecordName& name) {
    name = name_of(p, p.next);
    const auto tokens = block_of(p.tokens, p.next);
    const std::size_t n_known = p.next * kBlockTokens + tokens.size();
    const std::vector<std::int32_t> pages = prefixes_.pages_of(std::span(p.tokens).first(n_known));
    if (pages.empty()) return {};
    const auto page_bytes = static_cast<std::size_t>(kv_.page_bytes_all());
    RecordHeader h;
    h.identity = identity_;
    h.parent = parent_of(p, p.next);
    h.own = name.own;
    h.first = static_cast<std::int32_t>(p.next * kBlockTokens);
    h.tokens.assign(tokens.begin(), tokens.end());
    h.page_bytes = static_cast<std::uint32_t>(page_bytes);
    h.model_name = model_name_;
    const std::size_t n_pages = (tokens.size() + kPageTokens - 1) / kPageTokens;
    std::vector<std::uint8_t> bytes(kRecordHeaderBytes + n_pages * page_bytes);
    for (std::size_t i = 0; i < n_pages; ++i) {
        const auto to = std::span(bytes).subspan(kRecordHeaderBytes + i * page_bytes, page_bytes);
        kv_.read_page(pages[p.next * kBlockPages + i], to.data());
        const std::size_t n_valid =
            std::min<std::size_t>(kPageTokens, tokens.size() - i * kPageTokens);
        if (n_valid < kPageTokens) kv_.blank(to, static_cast<int>(n_valid));
        h.page_hashes.push_back(hash_bytes(to));
    }
    const std::vector<std::uint8_t> header = write_record_header(h);
    std::copy(header.begin(), header.end(), bytes.begin());
    return bytes;
}

void DiskCache::save_one() {
    if (!can_save()) return;
    Pending& p = pending_.front();
    {
        const std::lock_guard lock(mutex_);
        if (broken_) return pending_.clear();
        if (abandoned_.erase(p.serial) > 0) return pending_.pop_front();
    }
    if (p.chain.empty()) begin(p);
    while (p.next < p.chain.size() && store_.has(identity_, name_of(p, p.next))) ++p.next;
    if (p.next < p.chain.size()) {
        RecordName name;
        auto bytes = copy_block(p, name);
        if (bytes.empty()) return pending_.pop_front();
        post([this, serial = p.serial, conversation = p.conversation, name,
              bytes = std::move(bytes)] { write(serial, conversation, name, bytes); },
             true);
        ++p.next;
    }
    if (p.next < p.chain.size()) return;
    std::vector<RecordName> chain;
    for (std::size_t i = 0; i < p.chain.size(); ++i) chain.push_back(name_of(p, i));
    post([this, chain = std::move(chain)] { store_.mark_used(identity_, chain); }, false);
    pending_.pop_front();
}

void DiskCache::flush() {
    while (!pending_.empty()) {
        save_one();
        if (pending_.empty()) break;
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return n_blocks_ < kWaitingBlocks; });
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty() && !busy_; });
}

void DiskCache::forget(const std::string& conversation) {
    std::erase_if(pending_, [&](const Pending& p) { return p.conversation == conversation; });
    post(
        [this, conversation] {
            if (const auto done = store_.forget(conversation); !done) {
                log(LogLevel::warning, "a deleted conversation stays cached: " + done.error().what);
            }
        },
        false);
}

void DiskCache::post(Task task, bool is_block) {
    const std::lock_guard lock(mutex_);
    tasks_.emplace_back(std::move(task), is_block);
    n_blocks_ += is_block ? 1 : 0;
    changed_.notify_all();
}

// --- the writer thread ---------------------------------------------------------------------------

void DiskCache::write(std::uint64_t serial, const std::string& conversation, const RecordName& name,
                      const std::vector<std::uint8_t>& bytes) {
    {
        const std::lock_guard lock(mutex_);
        if (broken_ || abandoned_.count(serial) > 0) return;
    }
    const auto header = parse_record_header(bytes, static_cast<std::int64_t>(bytes.size()));
    HEARTH_CHECK(header.has_value());
    if (!name.is_whole() && store_.is_covered(identity_, name, header->tokens)) return;
    const auto put = store_.put(identity_, name, bytes);
    if (put && *put == RecordStore::Put::written) {
        store_.supersede(identity_, conversation, name, header->tokens);
    }
    const std::lock_guard lock(mutex_);
    if (!put) stop_writing(put.error().what);
    if (put && *put == RecordStore::Put::no_room) abandoned_.insert(serial);
}

/// Said once; the lock is held.
void DiskCache::stop_writing(const std::string& why) {
    if (std::exchange(broken_, true)) return;
    notice_ = why;
    log(LogLevel::warning, why);
}

void DiskCache::run() {
    // Signals are for other threads; a file that grows beyond the limit is an error of `write`.
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return quit_ || !tasks_.empty(); });
        if (tasks_.empty()) return;  // quit_, with everything done
        auto [task, is_block] = std::move(tasks_.front());
        tasks_.pop_front();
        busy_ = true;
        lock.unlock();
        const std::string why = run_task(task);
        task = {};  // its block leaves memory
        lock.lock();
        if (!why.empty()) stop_writing("what is computed is not kept on disk any more: " + why);
        busy_ = false;
        n_blocks_ -= is_block ? 1 : 0;
        changed_.notify_all();
        if ((is_block || !notice_.empty()) && wake_) wake_();
    }
}

}  // namespace hearth
