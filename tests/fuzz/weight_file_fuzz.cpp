// Any bytes as a model file: refused with a sentence or usable without reading outside them.
// Corpus: tests/fuzz/corpus/weight_file, written by the test "[write_corpus]" of model_tests.

#include <cstdlib>
#include <vector>

#include "engine/model/gguf.h"
#include "engine/model/model.h"

namespace {

void demand(bool ok) {
    if (!ok) std::abort();
}

void read_all(const hearth::WeightFile& file) {
    for (const auto& [key, value] : file.describe()) demand(!key.empty());
    for (const hearth::GgufKey& key : file.keys()) {
        (void)file.get_int(key.name);
        (void)file.get_float(key.name);
        (void)file.get_bool(key.name);
        (void)file.get_string(key.name);
        (void)file.get_ints(key.name);
        (void)file.get_floats(key.name);
        (void)file.get_strings(key.name);
    }
    unsigned sum = 0;
    for (const hearth::TensorInfo& t : file.tensors()) {
        const auto* p = static_cast<const unsigned char*>(t.view.data);
        sum += p[0] + p[t.view.bytes() - 1];
        demand(file.find(t.name) == &t);
    }
    static volatile unsigned sink = 0;
    sink = sum;
    demand(file.content_hash().size() == 32);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::vector<std::uint8_t> bytes(data, data + size);  // exact bounds for the sanitizer
    auto file = hearth::WeightFile::parse(bytes, "fuzz");
    if (!file) {
        demand(file.error().code == hearth::Errc::model_invalid && !file.error().what.empty());
        return 0;
    }
    read_all(**file);
    const auto model = hearth::Model::from_file(*file);
    demand(model || !model.error().what.empty());
    return 0;
}
