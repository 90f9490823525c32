#include "engine/cache_files.h"

#include <algorithm>
#include <map>

#include "engine/cache/record_store.h"

namespace hearth::cache_files {

namespace {

constexpr std::int64_t kReadBytes = 4 << 20;

/// "" or what is wrong with the record.
std::string damage_of(const RecordStore::Record& record) {
    const auto file = RecordFile::open(record.path());
    if (!file) return file.error().what;
    const RecordHeader& h = file->header();
    const std::string folder = record.folder.substr(record.folder.find_last_of('/') + 1);
    if (h.own != record.name.own || h.parent.high != record.name.parent ||
        static_cast<int>(h.tokens.size()) != record.name.n_tokens || hex(h.identity) != folder) {
        return record.path() + ": it holds something else than its name says";
    }
    const int step = static_cast<int>(std::max<std::int64_t>(1, kReadBytes / h.page_bytes));
    std::vector<std::uint8_t> buffer;
    for (int page = 0; page < h.n_pages(); page += step) {
        const int n = std::min(step, h.n_pages() - page);
        buffer.resize(static_cast<std::size_t>(n) * h.page_bytes);
        if (const auto read = file->read_pages(page, n, buffer); !read) return read.error().what;
    }
    return "";
}

}  // namespace

std::vector<Group> list(const std::string& cache_dir) {
    std::map<std::string, Group> groups;  // by folder
    for (const RecordStore::Record& r : RecordStore(cache_dir, 0).records()) {
        Group& g = groups[r.folder];
        if (g.model_name.empty()) {
            if (const auto file = RecordFile::open(r.path()))
                g.model_name = file->header().model_name;
        }
        ++g.n_records;
        g.n_tokens += r.name.n_tokens;
        g.bytes += r.bytes;
        g.used_ms = std::max(g.used_ms, r.used_ns / 1'000'000);
    }
    std::vector<Group> out;
    for (auto& [folder, group] : groups) {
        group.identity = folder.substr(folder.find_last_of('/') + 1);
        for (const std::string& name : list_names(folder)) {
            group.n_conversations += RecordStore::is_chat_file(name) ? 1 : 0;
        }
        out.push_back(std::move(group));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Group& a, const Group& b) { return a.bytes > b.bytes; });
    return out;
}

std::int64_t total_bytes(const std::string& cache_dir) {
    return RecordStore(cache_dir, 0).total_bytes();
}

std::int64_t automatic_budget(const std::string& cache_dir) {
    return automatic_cache_budget(cache_dir);
}

Checked verify(const std::string& cache_dir) {
    Checked checked;
    const RecordStore store(cache_dir, 0);
    for (const RecordStore::Record& r : store.records()) {
        std::string damage = damage_of(r);
        if (!damage.empty() && !store.has(r.folder, r.name)) continue;  // evicted meanwhile
        ++checked.n_records;
        checked.bytes += r.bytes;
        if (damage.empty()) continue;
        store.remove(r.path());
        checked.damaged.push_back(std::move(damage));
    }
    return checked;
}

Result<int> prune(const std::string& cache_dir, std::int64_t to_bytes) {
    return RecordStore(cache_dir, 0).prune(to_bytes);
}

Result<int> clear(const std::string& cache_dir) { return RecordStore(cache_dir, 0).clear(); }

Result<int> forget(const std::string& cache_dir, const std::string& conversation) {
    return RecordStore(cache_dir, 0).forget(conversation);
}

}  // namespace hearth::cache_files
