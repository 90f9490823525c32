#include "engine/text/jinja/template.h"

#include <algorithm>

#include "engine/text/jinja/parser.h"

namespace hearth::jinja {

tl::expected<Template, Failure> Template::compile(std::string_view source) {
    auto program = parse(source);
    if (!program) return tl::unexpected(program.error());
    Template result;
    result.program_ = std::make_shared<const Program>(std::move(*program));
    return result;
}

tl::expected<Text, Failure> Template::render(const Context& context) const {
    return Evaluator(*program_, context).run();
}

bool Template::mentions(std::string_view name) const {
    const auto& names = program_->names;
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace hearth::jinja
