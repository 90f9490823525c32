// The kernels that measure a card, on the emulated one: they end, and leave nothing behind. Their
// numbers mean something on a card only.
#include "kernels/card_roof.h"
#include "simt_support.h"

using namespace hearth;
using namespace hearth::test;

TEST_CASE("the roof of a card is measured, and leaves nothing behind", "[cuda][roof]") {
    const auto b = card();
    const std::int64_t before = b->free_bytes();
    const CardRoof roof = measure_card_roof();
    CHECK(roof.read_gb_s > 0);
    CHECK(roof.int8_gops > 0);
    CHECK(b->free_bytes() == before);
    CHECK(measure_card_roof(7).read_gb_s == 0);
}
