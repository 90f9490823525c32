#include "engine/model/model.h"

#include "engine/model/families.h"

namespace hearth {

std::vector<TensorView> every_tensor(const Weights& weights, int first_layer) {
    std::vector<TensorView> all;
    const auto add = [&](const TensorView& t) {
        if (t) all.push_back(t);
    };
    if (first_layer == 0) add(weights.token_embedding);
    for (auto i = static_cast<std::size_t>(first_layer); i < weights.layers.size(); ++i) {
        const LayerWeights& l = weights.layers[i];
        for (const TensorView* t :
             {&l.attn_norm, &l.wq, &l.wk, &l.wv, &l.bq, &l.bk, &l.bv, &l.q_norm, &l.k_norm, &l.wo,
              &l.attn_post_norm, &l.ffn_norm, &l.w_gate, &l.w_up, &l.w_down, &l.ffn_post_norm})
            add(*t);
    }
    add(weights.final_norm);
    add(weights.lm_head);
    return all;
}

Result<std::unique_ptr<Model>> Model::load(const std::string& path, int context_tokens) {
    HEARTH_TRY(auto file, WeightFile::open(path));
    return from_file(std::move(file), context_tokens);
}

Result<std::unique_ptr<Model>> Model::from_file(std::shared_ptr<WeightFile> file,
                                                int context_tokens) {
    auto m = std::make_unique<Model>();
    m->file = std::move(file);
    HEARTH_TRY(const Family* family, find_family(*m->file));
    HEARTH_TRY(m->config, family->config(*m->file, context_tokens));
    HEARTH_TRY(m->weights, family->weights(*m->file, m->config));
    HEARTH_TRY(auto vocabulary, m->file->vocabulary());
    if (static_cast<std::int64_t>(vocabulary.tokens.size()) > m->config.vocab_size) {
        return fail(Errc::model_invalid,
                    "{}: has {} tokens, expected at most the {} rows of token_embd.weight",
                    m->file->path(), vocabulary.tokens.size(), m->config.vocab_size);
    }
    HEARTH_TRY(m->tokenizer, Tokenizer::make(std::move(vocabulary)));
    HEARTH_TRY(m->chat_template, m->file->chat_template());
    if (!m->file->is_unchanged()) {
        return fail(Errc::model_invalid, "{}: was changed while it was opened; try again",
                    m->file->path());
    }
    return m;
}

std::int64_t Model::weight_bytes() const {
    std::int64_t total = 0;
    for (const TensorInfo& t : file->tensors()) total += t.view.bytes();
    return total;
}

std::int64_t Model::kv_bytes_per_token(DType kv) const {
    std::int64_t total = 0;
    for (const AttentionSpec& a : config.attention) {
        total += 2 * row_bytes(kv, std::int64_t{a.n_kv_heads} * a.head_dim);
    }
    return total;
}

}  // namespace hearth
