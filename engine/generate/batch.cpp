#include "engine/generate/batch.h"

#include "engine/base/check.h"

namespace hearth {

void Batch::clear() {
    tokens_.clear();
    output_rows_.clear();
    slots_.clear();
    spans_.clear();
}

void Batch::add(const Sequence& seq, int n_tokens, int n_outputs, const KvCache& kv,
                std::span<const std::int32_t> drafts) {
    const int n_all = n_tokens + static_cast<int>(drafts.size());
    HEARTH_CHECK(n_tokens > 0 && n_tokens <= seq.n_pending() && n_outputs <= n_all);
    HEARTH_CHECK(drafts.empty() || n_tokens == seq.n_pending());
    const int n_pages = (seq.n_cached + n_all + kPageTokens - 1) / kPageTokens;
    HEARTH_CHECK(n_pages <= static_cast<int>(seq.pages.size()));
    for (int i = seq.n_cached / kPageTokens; i < n_pages; ++i) {  // shared pages are not written
        HEARTH_CHECK(kv.pool().n_references(seq.pages[static_cast<std::size_t>(i)]) == 1);
    }
    SequenceSpan span;
    span.first_row = n_rows();
    span.n_rows = n_all;
    span.first_position = seq.n_cached;
    span.n_pages = n_pages;
    spans_.push_back(span);
    const auto first = seq.tokens.begin() + seq.n_cached;
    tokens_.insert(tokens_.end(), first, first + n_tokens);
    tokens_.insert(tokens_.end(), drafts.begin(), drafts.end());
    for (int i = 0; i < n_pages; ++i) {
        slots_.push_back(kv.slot(seq.pages[static_cast<std::size_t>(i)]));
    }
    for (int row = n_rows() - n_outputs; row < n_rows(); ++row) output_rows_.push_back(row);
}

BatchView Batch::view() {
    const std::int32_t* table = slots_.data();
    for (SequenceSpan& span : spans_) {
        span.pages = table;
        table += span.n_pages;
    }
    return {tokens_, spans_, output_rows_};
}

}  // namespace hearth
