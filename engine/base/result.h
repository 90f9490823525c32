#pragma once
// Result<T>: a value, or an Error whose text is one sentence for the user (what, where, expected,
// found, what to do). Our code throws nothing; expected failures travel as values.

#include <string>
#include <utility>

#include <fmt/format.h>
#include <tl/expected.hpp>

namespace hearth {

/// Kinds of expected failure. `exit_code` maps them to the table of the command line.
enum class Errc {
    failed,            ///< run-time failure (I/O, database, template)     exit code 1
    usage,             ///< bad arguments                                  2
    model_not_found,   ///< no such model, or the name is ambiguous        3
    model_invalid,     ///< the file is damaged or unsupported             3
    out_of_memory,     ///< does not fit                                   4
    context_overflow,  ///< the prompt is longer than the context          5
    no_gpu,            ///< a card was required and none is usable         6
    network,           ///< download                                       7
    device_lost,       ///< the device stopped answering                   1
    stopped,           ///< interrupted by the user                        130
};

constexpr int exit_code(Errc code) {
    switch (code) {
        case Errc::failed:
        case Errc::device_lost:
            return 1;
        case Errc::usage:
            return 2;
        case Errc::model_not_found:
        case Errc::model_invalid:
            return 3;
        case Errc::out_of_memory:
            return 4;
        case Errc::context_overflow:
            return 5;
        case Errc::no_gpu:
            return 6;
        case Errc::network:
            return 7;
        case Errc::stopped:
            return 130;
    }
    return 1;
}

struct Error {
    Errc code = Errc::failed;
    std::string what;
};

template <typename T>
using Result = tl::expected<T, Error>;

/// return fail(Errc::model_invalid, "{}: expected {}, found {}", path, a, b);
template <typename... Args>
[[nodiscard]] tl::unexpected<Error> fail(Errc code, fmt::format_string<Args...> text,
                                         Args&&... args) {
    return tl::unexpected<Error>(Error{code, fmt::format(text, std::forward<Args>(args)...)});
}

/// HEARTH_TRY(auto x, f()): declares x from the value of f(), or returns its error.
#define HEARTH_TRY_CONCAT2(a, b) a##b
#define HEARTH_TRY_CONCAT(a, b)  HEARTH_TRY_CONCAT2(a, b)
#define HEARTH_TRY(declaration, expression)                               \
    auto HEARTH_TRY_CONCAT(hearth_try_, __LINE__) = (expression);         \
    if (!HEARTH_TRY_CONCAT(hearth_try_, __LINE__))                        \
        return tl::unexpected<::hearth::Error>(                           \
            std::move(HEARTH_TRY_CONCAT(hearth_try_, __LINE__)).error()); \
    declaration = std::move(*HEARTH_TRY_CONCAT(hearth_try_, __LINE__))

/// HEARTH_TRY_VOID(f()): the same for Result<void>.
#define HEARTH_TRY_VOID(expression)                                                     \
    do {                                                                                \
        auto hearth_try_void = (expression);                                            \
        if (!hearth_try_void)                                                           \
            return tl::unexpected<::hearth::Error>(std::move(hearth_try_void).error()); \
    } while (false)

}  // namespace hearth
