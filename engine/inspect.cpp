// inspect: what needs no forward pass. Tokens, templates, the card of a file.

#include "engine/inspect.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/model/families.h"
#include "engine/model/model.h"
#include "engine/text/chat_template.h"
#include "engine/text/tokenizer.h"

namespace hearth::inspect {

namespace {

using nlohmann::ordered_json;

Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& model_path) {
    HEARTH_TRY(const auto file, WeightFile::open(model_path));
    HEARTH_TRY(Vocabulary vocabulary, file->vocabulary());
    return Tokenizer::make(std::move(vocabulary));
}

/// JSON text; bytes that are no UTF-8 become U+FFFD.
std::string dump(const ordered_json& j) {
    return j.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string template_choices() { return fmt::format("{}", fmt::join(ChatTemplate::names(), ", ")); }

/// Types of the weights by share of their bytes, the largest first: "Q4_K 58 %, Q6_K 42 %".
std::string quantization_of(const WeightFile& file) {
    std::array<std::int64_t, kNumDTypes> bytes{};
    std::int64_t total = 0;
    for (const TensorInfo& t : file.tensors()) {
        bytes[static_cast<std::size_t>(t.view.dtype)] += t.view.bytes();
        total += t.view.bytes();
    }
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] * 100 >= total && total > 0) order.push_back(i);
    }
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
    std::string out;
    for (const std::size_t i : order) {
        const auto name = dtype_info(static_cast<DType>(i)).name;
        if (order.size() == 1) return std::string(name);
        out += fmt::format("{}{} {:.0f} %", out.empty() ? "" : ", ", name,
                           100.0 * static_cast<double>(bytes[i]) / static_cast<double>(total));
    }
    return out;
}

Result<std::string> tokenizer_of(const WeightFile& file) {
    HEARTH_TRY(const auto model, file.get_string("tokenizer.ggml.model"));
    HEARTH_TRY(const auto pre, file.get_string("tokenizer.ggml.pre"));
    if (!model) return std::string();
    return pre ? *model + " (" + *pre + ")" : *model;
}

}  // namespace

Result<std::string> tokenize(const std::string& model_path, const std::string& text,
                             bool parse_special) {
    HEARTH_TRY(const auto tokenizer, open_tokenizer(model_path));
    const auto ids = tokenizer->encode(text, parse_special);
    ordered_json pieces = ordered_json::array();
    for (const TokenId id : ids) pieces.push_back(tokenizer->piece(id, /*render_special=*/true));
    return dump({{"ids", ids}, {"pieces", std::move(pieces)}});
}

Result<std::string> detokenize(const std::string& model_path,
                               const std::vector<std::int32_t>& ids) {
    HEARTH_TRY(const auto tokenizer, open_tokenizer(model_path));
    return dump({{"text", tokenizer->decode(ids, /*render_special=*/true)}});
}

Result<std::string> render_template(const std::string& template_source,
                                    const std::string& context_json) {
    const auto context = ordered_json::parse(context_json, nullptr, /*allow_exceptions=*/false);
    if (!context.is_object()) {
        return fail(
            Errc::usage,
            "the template's context must be a JSON object, such as {{\"messages\": [...]}}");
    }
    const auto r = ChatTemplate::render_json(template_source, context);
    if (!r.kind.empty()) return dump({{"error", r.error}, {"kind", r.kind}});
    return dump({{"text", r.text}});
}

Result<std::string> template_of(const std::string& model_path) {
    HEARTH_TRY(const auto file, WeightFile::open(model_path));
    HEARTH_TRY(std::string source, file->chat_template());
    if (source.empty()) {
        return fail(Errc::failed, "{} has no chat template; choose one with --template ({})",
                    model_path, template_choices());
    }
    return source;
}

Result<ModelCard> card(const std::string& model_path) {
    HEARTH_TRY(const auto file, WeightFile::open(model_path));
    HEARTH_TRY(const Family* family, find_family(*file));
    HEARTH_TRY(const ModelConfig config, family->config(*file, 0));
    ModelCard c;
    c.name = config.name;
    c.family = config.family;
    c.file_bytes = file->file_bytes();
    c.context_length = config.context_length;
    c.n_layers = config.n_layers;
    c.hidden_size = config.hidden_size;
    c.vocab_size = config.vocab_size;
    HEARTH_TRY(c.template_source, file->chat_template());
    HEARTH_TRY(c.tokenizer, tokenizer_of(*file));
    c.quantization = quantization_of(*file);
    for (const TensorInfo& t : file->tensors()) c.n_params += t.view.rows * t.view.cols;
    for (const AttentionSpec& a : config.attention) {
        c.kv_bytes_per_token += 2 * row_bytes(DType::f16, std::int64_t{a.n_kv_heads} * a.head_dim);
    }
    c.metadata = file->describe();
    if (c.template_source.empty()) {
        c.notes.push_back(fmt::format(
            "no chat template: choose one with --template ({}) or give the text with --raw",
            template_choices()));
    }
    return c;
}

std::vector<std::string> cpu_rungs() {
    std::vector<std::string> names;
    for (const CpuIsa isa : supported_cpu_isas()) names.push_back(cpu_isa_name(isa));
    return names;
}

int cpu_threads() { return default_cpu_threads(); }

std::vector<std::string> template_names() { return ChatTemplate::names(); }

}  // namespace hearth::inspect
