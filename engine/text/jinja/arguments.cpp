#include "engine/text/jinja/arguments.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/check.h"

namespace hearth::jinja {

Bound::Bound(Evaluator& evaluator, std::string_view what, const Arguments& arguments,
             std::initializer_list<std::string_view> names, std::size_t n_required)
    : evaluator_(evaluator),
      what_(what) {
    HEARTH_CHECK(names.size() <= kMax);
    const auto refuse = [&](std::string message) {
        if (ok_) evaluator.fail(std::move(message));
        ok_ = false;
    };
    if (arguments.positional.size() > names.size()) {
        refuse(fmt::format("{} takes at most {} arguments, found {}", what, names.size(),
                           arguments.positional.size()));
        return;
    }
    for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
        values_[i] = &arguments.positional[i];
    }
    for (const auto& [name, value] : arguments.keyword) {
        const auto place = std::find(names.begin(), names.end(), name);
        const auto i = static_cast<std::size_t>(place - names.begin());
        if (place == names.end() || values_[i]) {
            refuse(fmt::format("{} got an unexpected argument '{}'", what, name));
            return;
        }
        values_[i] = &value;
    }
    for (std::size_t i = 0; i < n_required; ++i) {
        if (!values_[i]) {
            refuse(fmt::format("{} needs the argument '{}'", what, *(names.begin() + i)));
            return;
        }
    }
}

void Bound::wrong_type(std::size_t i, std::string_view expected) {
    evaluator_.fail(fmt::format("{}: argument {} must be {}, found {}", what_, i + 1, expected,
                                type_name(*values_[i])));
    ok_ = false;
}

std::int64_t Bound::integer(std::size_t i, std::int64_t fallback) {
    if (!has(i)) return fallback;
    if (values_[i]->is_integral()) return values_[i]->integral();
    wrong_type(i, "an integer");
    return fallback;
}

std::string_view Bound::view(std::size_t i, std::string_view fallback) {
    if (!has(i)) return fallback;
    if (values_[i]->is(Kind::string)) return values_[i]->view();
    wrong_type(i, "a string");
    return fallback;
}

bool Bound::flag(std::size_t i, bool fallback) const {
    return values_[i] ? truth(*values_[i]) : fallback;
}

Origin Bound::blend(Origin origin) const {
    for (const Value* value : values_) {
        if (value && value->is(Kind::string) && !value->text().is_literal()) return kInput;
    }
    return origin == kLiteral ? kLiteral : kInput;
}

}  // namespace hearth::jinja
