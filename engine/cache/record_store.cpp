#include "engine/cache/record_store.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>

#include <sys/statvfs.h>
#include <unistd.h>
#include <xxhash.h>

namespace hearth {

namespace {

constexpr std::size_t kMostChatFileBytes = 4 << 20;

std::string chat_file_of(const std::string& conversation) {
    return fmt::format("{:016x}.chat", XXH3_64bits(conversation.data(), conversation.size()));
}

/// Names of folders of ours: 32 digits.
bool is_identity(const std::string& name) {
    return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Lines that are no hash are left out: the file is a hint, never more.
std::vector<Hash128> read_chat_file(const std::string& path) {
    std::vector<Hash128> out;
    const std::string text = read_small_file(path, kMostChatFileBytes);
    for (std::size_t at = 0; at + 33 <= text.size(); at += 33) {
        // A record's name reads the same digits.
        const auto name = RecordName::parse("0000000000000000-" + text.substr(at, 32) + "-001.kv");
        if (!name || text[at + 32] != '\n') break;
        out.push_back(name->own);
    }
    return out;
}

Error unwritable(const Error& error) {
    return {Errc::failed,
            fmt::format("what is computed cannot be kept on disk ({}); the chat goes on, but after "
                        "a restart it is computed again",
                        error.what)};
}

}  // namespace

RecordStore::RecordStore(const std::string& folder, std::int64_t budget_bytes)
    : root_(folder + "/kv"),
      budget_bytes_(budget_bytes) {}

std::vector<RecordName> RecordStore::names(const Hash128& identity) const {
    std::vector<RecordName> out;
    for (const std::string& file : list_names(folder_of(identity))) {
        if (const auto name = RecordName::parse(file)) out.push_back(*name);
    }
    return out;
}

bool RecordStore::has(const std::string& folder, const RecordName& name) const {
    return ::access((folder + "/" + name.file()).c_str(), F_OK) == 0;
}

bool RecordStore::is_chat_file(const std::string& name) {
    return name.size() == 21 && name.compare(16, 5, ".chat") == 0;
}

RecordStore::Scan RecordStore::scan() const {
    Scan s;
    for (const FileInfo& f : list_folder(root_)) {
        if (!f.is_folder || !is_identity(f.name)) {
            s.total_bytes += f.is_folder ? 0 : f.bytes;
            continue;
        }
        const std::string folder = root_ + "/" + f.name;
        s.folders.push_back(folder);
        for (const FileInfo& file : list_folder(folder)) {
            s.total_bytes += file.bytes;
            if (is_temporary(file.name)) s.left_behind.push_back(folder + "/" + file.name);
            if (const auto name = RecordName::parse(file.name)) {
                s.records.push_back({folder, *name, file.bytes, file.modified_ns});
            }
        }
    }
    return s;
}

std::vector<RecordStore::Record> RecordStore::records() const { return scan().records; }
std::int64_t RecordStore::total_bytes() const { return scan().total_bytes; }

void RecordStore::remove(const std::string& path) const { (void)::unlink(path.c_str()); }

/// Evicts until no more than `to_bytes` are there; never a record whose hash begins with `keep`.
int RecordStore::make_room(Scan& s, std::int64_t to_bytes, std::uint64_t keep) const {
    for (const std::string& path : std::exchange(s.left_behind, {})) remove(path);
    if (s.total_bytes <= to_bytes) return 0;
    using Key = std::pair<std::string, std::uint64_t>;
    std::map<Key, int> n_children;
    std::multimap<Key, std::size_t> by_own;
    for (std::size_t i = 0; i < s.records.size(); ++i) {
        const Record& r = s.records[i];
        ++n_children[{r.folder, r.name.parent}];
        by_own.emplace(Key{r.folder, r.name.own.high}, i);
    }
    std::set<std::pair<std::int64_t, std::size_t>> ends;  // by last use
    const auto consider = [&](std::size_t i) {
        const Record& r = s.records[i];
        if (r.name.own.high == keep || n_children[{r.folder, r.name.own.high}] > 0) return;
        ends.emplace(r.used_ns, i);
    };
    for (std::size_t i = 0; i < s.records.size(); ++i) consider(i);
    int n_removed = 0;
    while (s.total_bytes > to_bytes && !ends.empty()) {
        const std::size_t i = ends.begin()->second;
        ends.erase(ends.begin());
        const Record& r = s.records[i];
        if (::unlink(r.path().c_str()) != 0) continue;
        ++n_removed;
        s.total_bytes -= r.bytes;
        const Key parent{r.folder, r.name.parent};
        if (--n_children[parent] > 0) continue;
        const auto [first, last] = by_own.equal_range(parent);
        for (auto it = first; it != last; ++it) consider(it->second);
    }
    return n_removed;
}

/// The lock, then the folder: `clear` removes empty folders while it holds it.
Result<FileHandle> RecordStore::lock_for_writing(const std::string& folder) const {
    HEARTH_TRY_VOID(make_folder(root_));
    HEARTH_TRY(FileHandle lock, take_lock(root_));
    HEARTH_TRY_VOID(make_folder(folder));
    return lock;
}

Result<RecordStore::Put> RecordStore::put(const Hash128& identity, const RecordName& name,
                                          std::span<const std::uint8_t> bytes) {
    const std::string folder = folder_of(identity);
    const auto lock = lock_for_writing(folder);
    if (!lock) return tl::unexpected(unwritable(lock.error()));
    if (has(identity, name)) return Put::present;
    const auto room = budget_bytes_ - static_cast<std::int64_t>(bytes.size());
    if (room < 0) return Put::no_room;
    Scan s = scan();
    const bool has_parent = name.parent == identity.high ||
                            std::any_of(s.records.begin(), s.records.end(), [&](const Record& r) {
                                return r.folder == folder && r.name.own.high == name.parent;
                            });
    if (!has_parent) return Put::no_room;  // evicted meanwhile: nobody would find this one
    make_room(s, room, name.parent);
    if (s.total_bytes > room) return Put::no_room;
    if (auto written = write_whole_file(folder, name.file(), bytes); !written) {
        return tl::unexpected(unwritable(written.error()));
    }
    return Put::written;
}

Result<void> RecordStore::claim(const Hash128& identity, const std::string& conversation,
                                std::span<const Hash128> own) {
    const std::string folder = folder_of(identity);
    const auto lock = lock_for_writing(folder);
    if (!lock) return tl::unexpected(unwritable(lock.error()));
    const std::string file = chat_file_of(conversation);
    std::set<Hash128> there;
    for (const RecordName& name : names(identity)) there.insert(name.own);
    if (n_claims_++ % 32 == 0) sweep_chat_files(folder, there);
    std::set<Hash128> all(own.begin(), own.end());
    for (const Hash128& h : read_chat_file(folder + "/" + file)) {
        if (there.count(h) > 0) all.insert(h);
    }
    std::string text;
    for (const Hash128& h : all) text += hex(h) + "\n";
    if (read_small_file(folder + "/" + file, kMostChatFileBytes) == text) return {};
    const auto n = static_cast<std::int64_t>(text.size());
    if (n > budget_bytes_) return {};
    Scan s = scan();
    make_room(s, budget_bytes_ - n, 0);
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    if (auto written = write_whole_file(folder, file, bytes); !written) {
        return tl::unexpected(unwritable(written.error()));
    }
    return {};
}

/// Lists of conversations whose records are all evicted; not young ones, their records are to come.
void RecordStore::sweep_chat_files(const std::string& folder,
                                   const std::set<Hash128>& there) const {
    const std::int64_t old_ns = (std::int64_t{::time(nullptr)} - 3600) * 1'000'000'000;
    for (const FileInfo& file : list_folder(folder)) {
        if (!is_chat_file(file.name) || file.modified_ns > old_ns) continue;
        const std::vector<Hash128> own = read_chat_file(folder + "/" + file.name);
        const bool is_needed = std::any_of(own.begin(), own.end(),
                                           [&](const Hash128& h) { return there.count(h) > 0; });
        if (!is_needed) remove(folder + "/" + file.name);
    }
}

/// What the conversations of all chat files but this one have.
std::set<Hash128> RecordStore::others_own(const std::string& folder,
                                          const std::string& chat_file) const {
    std::set<Hash128> out;
    for (const std::string& name : list_names(folder)) {
        if (!is_chat_file(name) || name == chat_file) continue;
        for (const Hash128& h : read_chat_file(folder + "/" + name)) out.insert(h);
    }
    return out;
}

bool RecordStore::is_covered(const Hash128& identity, const RecordName& name,
                             std::span<const std::int32_t> tokens) const {
    for (const RecordName& other : names(identity)) {
        if (other.parent != name.parent || other.n_tokens <= name.n_tokens) continue;
        const auto record = RecordFile::open(path_of(identity, other));
        if (record && std::equal(tokens.begin(), tokens.end(), record->header().tokens.begin())) {
            return true;
        }
    }
    return false;
}

void RecordStore::supersede(const Hash128& identity, const std::string& conversation,
                            const RecordName& name, std::span<const std::int32_t> tokens) {
    const std::string folder = folder_of(identity);
    std::vector<RecordName> shorter;
    for (const RecordName& other : names(identity)) {
        if (other.parent != name.parent || other.n_tokens >= name.n_tokens) continue;
        const auto record = RecordFile::open(folder + "/" + other.file());
        if (!record) continue;
        const std::vector<std::int32_t>& t = record->header().tokens;
        if (t.size() < tokens.size() && std::equal(t.begin(), t.end(), tokens.begin())) {
            shorter.push_back(other);
        }
    }
    if (shorter.empty()) return;
    const auto lock = take_lock(root_);
    if (!lock) return;
    const std::set<Hash128> others = others_own(folder, chat_file_of(conversation));
    for (const RecordName& other : shorter) {
        if (others.count(other.own) == 0) remove(folder + "/" + other.file());
    }
}

Result<int> RecordStore::forget(const std::string& conversation) {
    const Scan before = scan();
    if (before.folders.empty()) return 0;
    HEARTH_TRY(const FileHandle lock, take_lock(root_));
    const std::string chat = chat_file_of(conversation);
    int n_removed = 0;
    for (const std::string& folder : before.folders) {
        const std::vector<Hash128> list = read_chat_file(folder + "/" + chat);
        if (list.empty()) continue;
        const std::set<Hash128> mine(list.begin(), list.end());
        const std::set<Hash128> others = others_own(folder, chat);
        for (const std::string& file : list_names(folder)) {
            const auto name = RecordName::parse(file);
            if (!name || mine.count(name->own) == 0 || others.count(name->own) > 0) continue;
            remove(folder + "/" + file);
            ++n_removed;
        }
        remove(folder + "/" + chat);
    }
    return n_removed;
}

void RecordStore::mark_used(const Hash128& identity, std::span<const RecordName> chain) const {
    int order = static_cast<int>(chain.size());
    for (const RecordName& name : chain) hearth::mark_used(path_of(identity, name), order--);
}

Result<int> RecordStore::prune(std::int64_t to_bytes) {
    if (scan().folders.empty()) return 0;
    HEARTH_TRY(const FileHandle lock, take_lock(root_));
    Scan s = scan();
    return make_room(s, to_bytes, 0);
}

Result<int> RecordStore::clear() {
    if (scan().folders.empty()) return 0;
    HEARTH_TRY(const FileHandle lock, take_lock(root_));
    int n_removed = 0;
    for (const std::string& folder : scan().folders) {
        for (const std::string& file : list_names(folder)) {
            const bool is_record = RecordName::parse(file).has_value();
            if (!is_record && !is_chat_file(file) && !is_temporary(file)) continue;
            remove(folder + "/" + file);
            n_removed += is_record ? 1 : 0;
        }
        (void)::rmdir(folder.c_str());
    }
    return n_removed;
}

std::int64_t automatic_cache_budget(const std::string& folder) {
    constexpr std::int64_t kMost = std::int64_t{10} << 30;
    std::string existing = folder;
    struct statvfs status = {};
    while (::statvfs(existing.c_str(), &status) != 0) {
        const std::size_t slash = existing.find_last_of('/');
        if (slash == std::string::npos || slash == 0) return kMost / 10;
        existing.resize(slash);
    }
    const auto free =
        static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
    return std::min(kMost, (free + RecordStore(folder, 0).total_bytes()) / 10);
}

}  // namespace hearth
