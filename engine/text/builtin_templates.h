#pragma once
// Chat templates of the common families, written for this project, for models that bring none.

#include <span>
#include <string_view>

namespace hearth {

struct BuiltinTemplate {
    std::string_view name;
    std::string_view source;
    /// Token texts that a vocabulary of this family has, all of them.
    std::span<const std::string_view> markers;
};

/// In the order in which a vocabulary is tried: the most telling markers first.
std::span<const BuiltinTemplate> builtin_templates();

}  // namespace hearth
