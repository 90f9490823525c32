#include "engine/model/families.h"

#include <string>

#include "engine/model/families/rows.h"
#include "engine/model/gguf.h"

namespace hearth {

namespace {

constexpr Family kFamilies[] = {
    {"llama", llama_config, llama_weights},    {"mistral3", llama_config, llama_weights},
    {"qwen2", qwen2_config, qwen2_weights},    {"qwen3", qwen3_config, qwen3_weights},
    {"gemma2", gemma2_config, gemma2_weights}, {"gemma3", gemma3_config, gemma3_weights},
    {"phi3", phi3_config, phi3_weights},
};

}  // namespace

std::span<const Family> families() { return kFamilies; }

Result<const Family*> find_family(const WeightFile& file) {
    HEARTH_TRY(const auto name, file.get_string("general.architecture"));
    if (!name) {
        return fail(Errc::model_invalid, "{}: the key general.architecture is missing",
                    file.path());
    }
    std::string supported;
    for (const Family& f : kFamilies) {
        if (f.architecture == *name) return &f;
        supported += supported.empty() ? "" : ", ";
        supported += f.architecture;
    }
    return fail(Errc::model_invalid,
                "{}: its architecture '{}' is not supported; supported are {} (Mistral and SmolLM "
                "files say llama)",
                file.path(), printable(*name), supported);
}

}  // namespace hearth
