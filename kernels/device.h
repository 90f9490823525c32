#pragma once
// The cards of this machine and the backend on one of them. Knows no CUDA header: where the build
// had no CUDA compiler the same functions say so.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "kernels/backend.h"

namespace hearth {

struct CardStatus {
    bool is_usable = false;
    std::string text;  ///< one line: the card, or why none is used
    std::string name;
    int architecture = 0;  ///< 10 * major + minor
    int n_multiprocessors = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t free_bytes = 0;
    int driver =
        0;  ///< 1000 * major + 10 * minor of the newest CUDA that the driver knows; 0 = none
    int runtime = 0;  ///< of this build
};
/// Never fails and loads no driver that is not there.
CardStatus card_status(int device = 0);

/// The largest step that will be run, for working memory that is reserved once.
struct StepLimits {
    int rows = 0;                   ///< tokens
    int outputs = 0;                ///< rows of logits
    std::int64_t widest_input = 0;  ///< largest K of a weight
    std::int64_t vocab_size = 0;
    int n_kv_heads = 0, head_dim = 0;  ///< the largest of the layers
    int heads_per_kv = 0;
    int pages = 0;        ///< of all sequences of a step
    int rope_floats = 0;  ///< cos and sin per row, all rope specs
};

/// A backend with memory of its own: what it allocates is not readable by the host, weights are
/// copied, and it can fail for good.
class CardBackend : public Backend {
  public:
    /// Bytes that allocate can still give.
    virtual std::int64_t free_bytes() const = 0;
    /// Bytes that load_weights takes, to the byte.
    virtual std::int64_t weight_bytes(std::span<const TensorView> weights) const = 0;
    /// Copies the weights that the ops will be given, in one allocation; one that it does not know
    /// is copied when an op names it. progress(done, total) in bytes, false = stop. Returns an
    /// empty text, or why they are not there.
    using Progress = std::function<bool(std::int64_t, std::int64_t)>;
    virtual std::string load_weights(std::span<const TensorView> weights,
                                     const Progress& progress) = 0;
    /// Forgets all weights; before their host memory is given back.
    virtual void drop_weights() = 0;
    /// Bytes that reserve takes beside what allocate gave, to the byte.
    virtual std::int64_t workspace_bytes(const StepLimits& limits) const = 0;
    /// Takes the working memory of steps within `limits`; false: it is not there.
    virtual bool reserve(const StepLimits& limits) = 0;
    /// `m` where the host can read it, until the next step.
    virtual MatrixView on_host(MatrixView m) = 0;
    /// Why the card computes no more; empty while it does.
    virtual std::string failure() const = 0;
};

/// The card behind a backend, or nullptr.
inline CardBackend* as_card(Backend& b) { return dynamic_cast<CardBackend*>(&b); }
/// Rows that ops have written, where the host can read them, until the next step.
inline MatrixView on_host(Backend& b, MatrixView m) {
    CardBackend* const card = as_card(b);
    return card != nullptr ? card->on_host(m) : m;
}

struct CardOptions {
    int device = 0;
};
/// nullptr and a sentence in `why` when there is no usable card.
std::unique_ptr<CardBackend> make_card_backend(const CardOptions& options, std::string& why);

}  // namespace hearth
