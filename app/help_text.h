#pragma once
// Texts of --help and of mistakes in argv.

#include <string>

#include "app/options.h"

namespace hearth {

struct VerbRow {
    Verb verb;
    const char* name;
    const char* aliases;    ///< space separated
    const char* arguments;  ///< "MODEL [PROMPT]"
    const char* help;       ///< one line
};
const std::vector<VerbRow>& verb_rows();
const VerbRow* find_verb(const std::string& word);

std::string version_number();
std::string version_text();
std::string main_help();
/// A sentence for verbs and flags that are known but not there yet; "" for others.
std::string not_yet(const std::string& word);
/// The word of `known` that is nearest to `word`, or "".
std::string nearest(const std::string& word, const std::vector<std::string>& known);

}  // namespace hearth
