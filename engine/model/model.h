#pragma once
// Model: ModelConfig + Weights + Tokenizer of one file; immutable after load, knows no sequences.

#include <memory>
#include <string>

#include "engine/base/result.h"
#include "engine/model/config.h"
#include "engine/model/weight_file.h"
#include "engine/model/weights.h"
#include "engine/text/tokenizer.h"

namespace hearth {

struct Model {
    std::shared_ptr<WeightFile> file;
    ModelConfig config;
    Weights weights;
    std::unique_ptr<Tokenizer> tokenizer;
    std::string chat_template;  ///< source from the file; empty when it has none

    /// Opens, checks every shape against the configuration, makes the tokenizer.
    /// context_tokens: the context that will be used, 0 = the trained one. It decides LongRoPE's
    /// list, so it belongs in the key of whatever is cached.
    static Result<std::unique_ptr<Model>> load(const std::string& path, int context_tokens = 0);
    static Result<std::unique_ptr<Model>> from_file(std::shared_ptr<WeightFile> file,
                                                    int context_tokens = 0);

    std::int64_t weight_bytes() const;
    /// Bytes of KV per token for a KV type, all layers, keys and values.
    std::int64_t kv_bytes_per_token(DType kv) const;
};

}  // namespace hearth
