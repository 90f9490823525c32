#pragma once
// Operations on Text that several filters and methods share; each keeps the origin of every byte.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/jinja/evaluator.h"
#include "engine/text/jinja/text.h"

namespace hearth::jinja {

enum class Side : std::uint8_t { left = 1, right = 2, both = 3 };

/// str.strip: takes characters of `chars` off the ends, white space when it is empty.
Text strip(const Text& text, std::string_view chars, Side side);
/// str.replace, at most `limit` times (all when negative). Fails the evaluator when it grows too
/// big.
Text replace(Evaluator& evaluator, const Text& text, std::string_view from, const Text& to,
             std::int64_t limit);
/// str.split(separator, limit); the separator is not empty. Every piece is charged for.
std::vector<Text> split(Evaluator& evaluator, const Text& text, std::string_view separator,
                        std::int64_t limit);
std::vector<Text> split_from_right(Evaluator& evaluator, const Text& text,
                                   std::string_view separator, std::int64_t limit);
/// str.split(None, limit).
std::vector<Text> split_space(Evaluator& evaluator, const Text& text, std::int64_t limit);
/// str.splitlines.
std::vector<Text> split_lines(Evaluator& evaluator, const Text& text, bool keep_ends = false);
Value text_list(std::vector<Text> pieces);

/// Rewrites character by character; `append` adds the new form of one. Input stays input.
Text map_characters(const Text& text,
                    const std::function<void(std::string& out, std::int32_t c)>& append);
Text upper(const Text& text);
Text lower(const Text& text);
Text capitalize(const Text& text);
Text swap_case(const Text& text);
/// str.title: a letter after a non-letter is upper.
Text title(const Text& text);
/// The title filter: the first letter of each word, words ending at space - ( { [ < only.
Text title_words(const Text& text);
/// `n_left` and `n_right` copies of `fill` around the text.
Text pad(const Text& text, std::size_t n_left, std::size_t n_right, std::string_view fill = " ");

}  // namespace hearth::jinja
