#pragma once
// From EngineOptions to the things they name: backend, KV type, context, KV budget. Errors are
// sentences about the option.

#include <memory>

#include "engine/base/result.h"
#include "engine/engine.h"
#include "engine/model/model.h"
#include "kernels/backend.h"

namespace hearth {

/// The context used when none is asked for, tokens (or the model's, when that is less).
inline constexpr int kDefaultContext = 8192;

Result<std::unique_ptr<Backend>> make_backend(const EngineOptions& options);
/// "cpu avx512-vnni, 2 threads"
std::string backend_text(const Backend& backend);
/// Errors: usage.
Result<DType> kv_dtype(const EngineOptions& options);
/// Negative numbers and the like. Errors: usage.
Result<void> check_options(const EngineOptions& options);
/// Loads the file for the context that the options ask for.
Result<std::unique_ptr<Model>> load_model(const std::string& path, const EngineOptions& options);
/// min(option or kDefaultContext, the model's).
int context_limit(const EngineOptions& options, const ModelConfig& config);
/// Pages that the KV budget of the options allows, at least 1.
int budget_pages(const EngineOptions& options, std::int64_t bytes_per_page);
/// Copies the weights to the card, if the backend is one. Errors: out_of_memory.
Result<void> place_weights(const Model& model, Backend& backend);

}  // namespace hearth
