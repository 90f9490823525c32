#include "engine/model/weight_file.h"

#include <filesystem>
#include <mutex>
#include <optional>
#include <unordered_map>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "engine/base/mapped_file.h"
#include "engine/model/gguf.h"
#include "engine/model/shards.h"

namespace hearth {

struct WeightFile::Impl {
    std::string path;
    std::int64_t file_bytes = 0;
    std::vector<MappedFile> mappings;                   ///< empty for parse()
    std::vector<std::span<const std::uint8_t>> shards;  ///< bytes of every file
    std::vector<std::size_t> header_bytes;              ///< of every file
    std::vector<GgufKey> keys;                          ///< of the first shard
    std::unordered_map<std::string_view, std::size_t> key_index;
    std::vector<TensorInfo> tensors;  ///< of all shards
    std::unordered_map<std::string_view, std::size_t> tensor_index;
    mutable std::once_flag hash_once;
    mutable std::string hash;

    const GgufKey* find_key(std::string_view name) const {
        const auto it = key_index.find(name);
        return it == key_index.end() ? nullptr : &keys[it->second];
    }
    Result<void> add_shard(std::span<const std::uint8_t> bytes, GgufDirectory directory,
                           const std::string& where);
    void build_indexes();
    std::string compute_hash() const;
};

Result<void> WeightFile::Impl::add_shard(std::span<const std::uint8_t> bytes,
                                         GgufDirectory directory, const std::string& where) {
    if (shards.empty()) keys = std::move(directory.keys);
    shards.push_back(bytes);
    header_bytes.push_back(directory.header_bytes);
    file_bytes += static_cast<std::int64_t>(bytes.size());
    for (TensorInfo& t : directory.tensors) tensors.push_back(std::move(t));
    build_indexes();
    if (tensor_index.size() != tensors.size()) {
        return fail(Errc::model_invalid, "{}: holds a tensor that an earlier part holds too",
                    where);
    }
    return {};
}

void WeightFile::Impl::build_indexes() {
    key_index.clear();
    tensor_index.clear();
    for (std::size_t i = 0; i < keys.size(); ++i) key_index.emplace(keys[i].name, i);
    for (std::size_t i = 0; i < tensors.size(); ++i) tensor_index.emplace(tensors[i].name, i);
}

/// Headers whole, and 512 bytes from the middle of every tensor: one page fault each, and every
/// conversion or quantization of a model differs in them.
std::string WeightFile::Impl::compute_hash() const {
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    for (std::size_t i = 0; i < shards.size(); ++i) {
        const std::uint64_t n = shards[i].size();
        XXH3_128bits_update(&state, &n, sizeof n);
        XXH3_128bits_update(&state, shards[i].data(), header_bytes[i]);
    }
    for (const TensorInfo& t : tensors) {
        const auto bytes = static_cast<std::size_t>(t.view.bytes());
        const std::size_t n = std::min<std::size_t>(bytes, 512);
        const std::size_t middle = (bytes - n) / 2 / 512 * 512;
        XXH3_128bits_update(&state, static_cast<const std::uint8_t*>(t.view.data) + middle, n);
    }
    const XXH128_hash_t h = XXH3_128bits_digest(&state);
    return fmt::format("{:016x}{:016x}", h.high64, h.low64);
}

WeightFile::WeightFile() : impl_(std::make_unique<Impl>()) {}
WeightFile::~WeightFile() = default;

// --- opening --------------------------------------------------------------------------------

namespace {

/// general.* stays what the first part says; the others carry split.* only.
Result<SplitInfo> split_info(const GgufDirectory& d, const std::string& where) {
    SplitInfo out;
    for (const GgufKey& key : d.keys) {
        std::optional<std::uint64_t>* field = nullptr;
        if (key.name == "split.no") field = &out.index;
        if (key.name == "split.count") field = &out.count;
        if (key.name == "split.tensors.count") field = &out.n_tensors;
        if (field == nullptr) continue;
        if (!is_gguf_integer(key.type)) {
            return fail(Errc::model_invalid, "{}: key '{}' is {}, expected an integer", where,
                        key.name, gguf_type_name(key.type));
        }
        std::uint64_t v = 0;  // little-endian, and negative values read as absurdly large ones
        for (std::size_t i = key.bytes.size(); i-- > 0;) v = v << 8 | key.bytes[i];
        *field = v;
    }
    return out;
}

Result<MappedFile> open_part(const std::string& path) {
    auto file = MappedFile::open(path);
    if (!file && file.error().code == Errc::failed) file.error().code = Errc::model_invalid;
    return file;
}

}  // namespace

Result<std::shared_ptr<WeightFile>> WeightFile::open(const std::string& path) {
    std::error_code ec;
    if (!std::filesystem::exists(path, ec)) {
        return fail(Errc::model_not_found, "{}: there is no such file", path);
    }
    HEARTH_TRY(MappedFile entry, open_part(path));
    HEARTH_TRY(GgufDirectory directory, read_gguf(entry.bytes(), path));
    HEARTH_TRY(const SplitInfo split, split_info(directory, path));
    std::shared_ptr<WeightFile> out(new WeightFile);
    Impl& impl = *out->impl_;
    impl.path = path;
    if (split.count.value_or(1) <= 1) {
        impl.mappings.push_back(std::move(entry));
        HEARTH_TRY_VOID(impl.add_shard(impl.mappings.back().bytes(), std::move(directory), path));
        return out;
    }
    HEARTH_TRY(const auto paths, sibling_paths(path, split));
    for (std::size_t i = 0; i < paths.size(); ++i) {
        HEARTH_TRY(MappedFile file, open_part(paths[i]));
        HEARTH_TRY(GgufDirectory part, read_gguf(file.bytes(), paths[i]));
        HEARTH_TRY(const SplitInfo info, split_info(part, paths[i]));
        HEARTH_TRY_VOID(check_part(paths[i], info, i, split));
        impl.mappings.push_back(std::move(file));
        HEARTH_TRY_VOID(impl.add_shard(impl.mappings.back().bytes(), std::move(part), paths[i]));
    }
    if (split.n_tensors && *split.n_tensors != impl.tensors.size()) {
        return fail(Errc::model_invalid, "{}: its {} parts hold {} tensors, expected {}", path,
                    paths.size(), impl.tensors.size(), *split.n_tensors);
    }
    impl.path = paths.front();
    return out;
}

Result<std::shared_ptr<WeightFile>> WeightFile::parse(std::span<const std::uint8_t> bytes,
                                                      std::string name) {
    HEARTH_TRY(GgufDirectory directory, read_gguf(bytes, name));
    HEARTH_TRY(const SplitInfo split, split_info(directory, name));
    if (split.count.value_or(1) > 1) {
        return fail(Errc::model_invalid, "{}: is one part of {}; open it by its path", name,
                    *split.count);
    }
    std::shared_ptr<WeightFile> out(new WeightFile);
    out->impl_->path = name;
    HEARTH_TRY_VOID(out->impl_->add_shard(bytes, std::move(directory), name));
    return out;
}

// --- access ---------------------------------------------------------------------------------

const std::string& WeightFile::path() const { return impl_->path; }
std::int64_t WeightFile::file_bytes() const { return impl_->file_bytes; }
const std::vector<TensorInfo>& WeightFile::tensors() const { return impl_->tensors; }

const TensorInfo* WeightFile::find(std::string_view name) const {
    const auto it = impl_->tensor_index.find(name);
    return it == impl_->tensor_index.end() ? nullptr : &impl_->tensors[it->second];
}

const std::string& WeightFile::content_hash() const {
    std::call_once(impl_->hash_once, [this] { impl_->hash = impl_->compute_hash(); });
    return impl_->hash;
}

void WeightFile::will_need() const {
    for (const MappedFile& m : impl_->mappings) m.will_need();
}

bool WeightFile::is_unchanged() const {
    for (const MappedFile& m : impl_->mappings) {
        if (!m.is_unchanged()) return false;
    }
    return true;
}

const GgufKey* WeightFile::find_key(std::string_view name) const { return impl_->find_key(name); }
std::span<const GgufKey> WeightFile::keys() const { return impl_->keys; }

}  // namespace hearth
