// inspect: which models on this machine may draft for another, and why the others may not.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/base/memory.h"
#include "engine/inspect.h"
#include "engine/model/families.h"
#include "engine/model/weight_file.h"
#include "engine/speculate/pairing.h"

namespace hearth::inspect {

namespace {

/// A draft is taken up to this share of the target's bytes: above it a drafted token costs more
/// than it can save.
constexpr double kMostShare = 0.55;
/// The share that is taken first; published pairs lie around it.
constexpr double kBestShare = 0.12;

struct Words {
    std::unique_ptr<Tokenizer> tokenizer;
    std::string chat_template;
    std::int64_t kv_bytes_per_token = 0;
};

Result<Words> words_of(const std::string& path) {
    HEARTH_TRY(const auto file, WeightFile::open(path));
    Words out;
    HEARTH_TRY(const Family* family, find_family(*file));
    HEARTH_TRY(const ModelConfig config, family->config(*file, 0));
    for (const AttentionSpec& a : config.attention) {
        out.kv_bytes_per_token +=
            2 * row_bytes(DType::f16, std::int64_t{a.n_kv_heads} * a.head_dim);
    }
    HEARTH_TRY(out.chat_template, file->chat_template());
    HEARTH_TRY(Vocabulary vocabulary, file->vocabulary());
    HEARTH_TRY(out.tokenizer, Tokenizer::make(std::move(vocabulary)));
    return out;
}

/// "" or why the file may not draft.
std::string refusal(DraftCandidate& c, std::int64_t target_bytes, const Words& target) {
    const double share = static_cast<double>(c.file_bytes) / static_cast<double>(target_bytes);
    if (share > kMostShare) {
        return fmt::format("it is {:.0f} % of the model's size; up to {:.0f} % can pay",
                           100 * share, 100 * kMostShare);
    }
    const auto words = words_of(c.path);
    if (!words) return words.error().what;
    c.kv_bytes_per_token = words->kv_bytes_per_token;
    const auto pairing =
        pair_vocabularies(*target.tokenizer, *words->tokenizer, target.chat_template);
    if (!pairing) return pairing.error().what;
    const std::int64_t free = free_memory_bytes();
    if (free >= 0 && c.file_bytes > free) {
        return fmt::format("it needs {} MiB and {} MiB of memory are free", c.file_bytes >> 20,
                           free >> 20);
    }
    return {};
}

}  // namespace

Result<std::vector<DraftCandidate>> draft_candidates(const std::string& target_path,
                                                     std::vector<DraftCandidate> files) {
    std::int64_t target_bytes = 0;
    {
        HEARTH_TRY(const auto file, WeightFile::open(target_path));
        target_bytes = file->file_bytes();
    }
    HEARTH_TRY(const Words target, words_of(target_path));
    std::erase_if(files, [&](const DraftCandidate& c) { return c.path == target_path; });
    for (DraftCandidate& c : files) c.refusal = refusal(c, target_bytes, target);
    const auto distance = [&](const DraftCandidate& c) {
        return std::abs(std::log(static_cast<double>(c.file_bytes) /
                                 (kBestShare * static_cast<double>(target_bytes))));
    };
    std::stable_sort(files.begin(), files.end(),
                     [&](const DraftCandidate& a, const DraftCandidate& b) {
                         if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
                         return a.refusal.empty() && distance(a) < distance(b);
                     });
    return files;
}

}  // namespace hearth::inspect
