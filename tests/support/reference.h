#pragma once
// Where tests find the reference data and the test models; a missing model fails with a sentence.

#include <string>

namespace hearth::test {

/// tests/golden/reference, or $HEARTH_REFERENCE.
std::string reference_dir();
std::string read_file(const std::string& path);
/// Path of a test model ("smollm2-135m-q4_1.gguf"); fails the test when the file is not there.
std::string model_path(const std::string& file);
bool full_run();  ///< HEARTH_TEST_FULL=1

}  // namespace hearth::test
