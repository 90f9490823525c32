#pragma once
// What the name of a GGUF file tells: is it a model, which part of how many, which quantization.

#include <string>
#include <string_view>

namespace hearth::models {

std::string lower(std::string_view text);
/// Ends with ".gguf" (any case), is no projector of images ("mmproj") and not hidden.
bool is_model_file_name(std::string_view file_name);
/// Without ".gguf", when it ends so.
std::string without_extension(std::string_view name);

/// "big-00002-of-00003.gguf" is part 2 of 3 of "big".
struct ShardName {
    std::string stem;  ///< without part and extension
    int part = 1, n_parts = 1;
};
ShardName parse_shard_name(std::string_view file_name);
/// The name of another part of the same model.
std::string shard_file_name(const ShardName& shard, int part);

/// "Q4_K_M" of "smollm2-q4_k_m" or "x.Q4_K_M", in upper case; "" when the name tells none.
std::string quant_of(std::string_view stem);

}  // namespace hearth::models
