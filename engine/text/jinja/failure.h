#pragma once
// Failure: why a template did not compile or render; kinds as tests and `inspect template` name
// them.

#include <cstdint>
#include <string>

namespace hearth::jinja {

struct Failure {
    enum class Kind : std::uint8_t {
        syntax,   ///< refused before rendering
        raised,   ///< the template called raise_exception(message)
        runtime,  ///< a type error, an undefined value, a spent budget
    };
    Kind kind = Kind::runtime;
    std::string message;
    int line = 0;  ///< line of the template, from 1
};

}  // namespace hearth::jinja
