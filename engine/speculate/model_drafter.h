#pragma once
// ModelDrafter: drafts by a small model with the target's vocabulary. Owns its weights, its keys
// and values and what is kept of them: they follow the target's text through edits, branches and
// rejected drafts, and are read again only where the text is new. Runs on the target's backend, on
// the engine thread, between its steps. Does not know acceptance or costs.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/cache/kv_cache.h"
#include "engine/cache/prefix_cache.h"
#include "engine/generate/batch.h"
#include "engine/model/decode.h"
#include "engine/speculate/draft_head.h"
#include "engine/speculate/drafter.h"

namespace hearth {

class ModelDrafter final : public Drafter {
  public:
    /// Reads the file and takes its memory; may run on any thread. Errors: those of the file,
    /// out_of_memory.
    static Result<std::unique_ptr<ModelDrafter>> load(const std::string& path,
                                                      const EngineOptions& options,
                                                      Backend& backend);
    /// To be called once, before it is used. Errors: usage, why it cannot draft for `target`.
    Result<void> pair_with(const Model& target, DraftHead::Size head = {});

    const std::string& path() const { return path_; }
    const Model& model() const { return *model_; }
    const Pairing& pairing() const { return pairing_; }
    double load_ms() const { return load_ms_; }

    const char* name() const override { return model_->config.name.c_str(); }
    int n_bins() const override;
    double expected_acceptance(int bin) const override;
    double expected_cost() const override { return expected_cost_; }
    int n_to_read(const DraftAsk& ask) override;
    Draft propose(const DraftAsk& ask) override;
    void answered(const std::string& conversation, std::span<const std::int32_t> answer) override;
    void forget(const std::string& conversation) override;
    Memory memory() const override;
    std::string check_idle() const override;

    static constexpr int kReadAtOnce = 16;  ///< tokens that are read along with drafting
    static constexpr int kReadChunk = 128;  ///< else: one chunk per step of the target
    /// Room for this many texts as long as the context; fewer when memory is short.
    static constexpr int kContexts = 2;

  private:
    /// A text that is being continued.
    struct Talk {
        Sequence seq;  ///< the text, then what was drafted after it
        PrefixCache::Lease lease;
        int n_final = 0;  ///< tokens of the text
        bool forgotten = false;
    };
    explicit ModelDrafter(Backend& backend) : backend_(backend) {}
    Result<void> take_memory(const EngineOptions& options);
    Talk& follow(const DraftAsk& ask);
    std::int32_t known(std::int32_t id) const;
    void cut(Sequence& seq, int n_tokens);
    bool compute(Sequence& seq, int n_tokens, bool want_logits, const std::atomic<bool>& stop);
    bool read(Sequence& seq, const std::atomic<bool>& stop, Draft& draft);
    void draft_tokens(Talk& talk, const DraftAsk& ask, Draft& draft);

    Backend& backend_;
    std::string path_;
    double load_ms_ = 0;
    std::unique_ptr<Model> model_;
    ModelConfig config_;  ///< with the head's rows for the vocabulary's
    Weights weights_;     ///< with that head
    std::unique_ptr<KvCache> kv_;
    std::unique_ptr<PrefixCache> prefixes_;  ///< after kv_: its pages go back first
    std::unique_ptr<DraftHead> head_;
    std::unique_ptr<Activations> activations_;
    Pairing pairing_;
    std::vector<std::int32_t> ends_;  ///< ids that end the target's answers
    int context_tokens_ = 0;
    double expected_cost_ = 0.3;
    std::map<std::string, Talk> talks_;  ///< by conversation
    std::vector<std::int32_t> text_;     ///< scratch: the target's text and the drafts
    Batch batch_;
    BatchView view_;
};

}  // namespace hearth
