#pragma once
// Template: a compiled Jinja template. Immutable, so threads may render it at the same time.

#include <memory>
#include <string_view>

#include <tl/expected.hpp>

#include "engine/text/jinja/evaluator.h"
#include "engine/text/jinja/failure.h"

namespace hearth::jinja {

class Template {
  public:
    static tl::expected<Template, Failure> compile(std::string_view source);
    /// The output with the origin of every byte. Values of the context are taken as they are.
    tl::expected<Text, Failure> render(const Context& context) const;
    /// True where the template mentions the name anywhere.
    bool mentions(std::string_view name) const;

  private:
    std::shared_ptr<const Program> program_;
};

}  // namespace hearth::jinja
