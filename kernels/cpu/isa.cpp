// Which rungs this processor can execute, and their tables.
#include <array>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "kernels/cpu/rung.h"

namespace hearth {
namespace {

#if defined(__x86_64__)
/// A bit of a CPUID leaf: for features that not every compiler's builtin knows. Whether the system
/// saves the registers is asked with "avx2".
bool cpuid_bit(unsigned leaf, unsigned subleaf, int reg, int bit) {
    unsigned r[4] = {};
    if (!__get_cpuid_count(leaf, subleaf, &r[0], &r[1], &r[2], &r[3])) return false;
    return (r[reg] >> bit) & 1u;
}
bool has_f16c() { return cpuid_bit(1, 0, 2, 29); }
bool has_avx_vnni() { return cpuid_bit(7, 1, 0, 4); }
#endif

bool supported(CpuIsa isa) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
    switch (isa) {
        case CpuIsa::scalar:
            return true;
        case CpuIsa::avx2:
            return avx2;
        case CpuIsa::avxvnni:
            return avx2 && has_avx_vnni();
        case CpuIsa::vnni256:
        case CpuIsa::avx512:
            return avx512;
        case CpuIsa::automatic:
            return false;
    }
    return false;
#else
    return isa == CpuIsa::scalar;
#endif
}

cpu::Kernels make_kernels(CpuIsa isa) {
    cpu::Kernels k;
    k.isa = isa;
#if defined(__x86_64__)
    switch (isa) {
        case CpuIsa::avx2:
            cpu::fill_matmul_avx2(k);
            cpu::fill_rows_avx2(k);
            return k;
        case CpuIsa::avxvnni:
            cpu::fill_matmul_avxvnni(k);
            cpu::fill_rows_avxvnni(k);
            return k;
        case CpuIsa::vnni256:
            cpu::fill_matmul_vnni256(k);
            cpu::fill_rows_vnni256(k);
            return k;
        case CpuIsa::avx512:
            cpu::fill_matmul_avx512(k);
            cpu::fill_rows_avx512(k);
            return k;
        default:
            break;
    }
#endif
    cpu::fill_matmul_scalar(k);
    cpu::fill_rows_scalar(k);
    return k;
}

}  // namespace

const char* cpu_isa_name(CpuIsa isa) {
    switch (isa) {
        case CpuIsa::automatic:
            return "automatic";
        case CpuIsa::scalar:
            return "scalar";
        case CpuIsa::avx2:
            return "avx2";
        case CpuIsa::avxvnni:
            return "avxvnni";
        case CpuIsa::vnni256:
            return "vnni256";
        case CpuIsa::avx512:
            return "avx512-vnni";
    }
    return "?";
}

std::vector<CpuIsa> supported_cpu_isas() {
    std::vector<CpuIsa> result;
    for (const CpuIsa isa :
         {CpuIsa::scalar, CpuIsa::avx2, CpuIsa::avxvnni, CpuIsa::vnni256, CpuIsa::avx512}) {
        if (supported(isa)) result.push_back(isa);
    }
    return result;
}

const cpu::Kernels& cpu::kernels_for(CpuIsa isa) {
    static const std::array<Kernels, 6> kTables = {
        make_kernels(CpuIsa::scalar),  make_kernels(CpuIsa::scalar),  make_kernels(CpuIsa::avx2),
        make_kernels(CpuIsa::avxvnni), make_kernels(CpuIsa::vnni256), make_kernels(CpuIsa::avx512)};
    return kTables[static_cast<std::size_t>(isa)];
}

}  // namespace hearth
