// matmul: y[t,m] = sum_k x[t,k] w[m,k]  (+ bias[m], or y += )
//
// source    layout and scheduling: README.md, "matmul"
// shapes    x (n, K)   w (M, K) in blocks   y (n, M)   bias (M)
// traffic   bytes(w) + 2 * n * K per 32 rows of cache traffic; 2 * n * M * K ops
// bound     memory for n below about 8, int8 multiply-add above
// mapping   a unit is 32 rows: unpacked 512 elements of K at a time into a panel in L1, which all
//           columns then pass. Few columns: each worker streams one contiguous range of rows and
//           prefetches its next unit; many: units are taken from a counter
// oracle    tests/reference/ops.h: matmul
#include <algorithm>
#include <cstring>

#include "kernels/cpu/check.h"
#include "kernels/cpu/program.h"

namespace hearth::cpu {
namespace {

/// Fewer columns than this: fixed contiguous ranges of rows.
constexpr std::int64_t kStreamingColumns = 16;

/// One unit of one part and how its K is walked.
struct Unit {
    const MatmulPart* part;
    std::int64_t row0;
    int rows;                            ///< 1..kPanelRows
    const std::uint8_t* next = nullptr;  ///< what this worker streams after it, or null
};

PanelOut panel_out(Scratch& s, int group) {
    return {s.q[group], s.scale[group], s.addend[group], nullptr};
}

/// Unpacks elements [k0, k0 + nk) of one group of `rows` <= 16 rows.
void unpack_group(const Context& c, const TensorView& w, std::int64_t row0, int rows,
                  std::int64_t k0, int nk, int group, const std::uint8_t* ahead) {
    const Kernels::Unpack unpack = c.kernels.unpack[static_cast<int>(w.dtype)];
    const std::int64_t stride = row_bytes(w.dtype, w.cols);
    const int per = is_quantized(w.dtype) ? 32 : 1;
    const auto* base = static_cast<const std::uint8_t*>(w.data) + row0 * stride;
    PanelOut out = panel_out(c.scratch, group);
    out.ahead = ahead;
    if (rows == kGroupRows) {
        unpack(base, stride, k0 / per, nk / per, out);
        return;
    }
    // The tensor ends inside this group: its rows are copied, the missing ones are zero blocks.
    const std::int64_t chunk = row_bytes(w.dtype, nk), offset = row_bytes(w.dtype, k0);
    std::uint8_t* tail = c.scratch.tail;
    std::memset(tail, 0, static_cast<std::size_t>(kGroupRows * chunk));
    for (int r = 0; r < rows; ++r)
        std::memcpy(tail + r * chunk, base + r * stride + offset, static_cast<std::size_t>(chunk));
    unpack(tail, chunk, 0, nk / per, out);
}

/// Where reading ahead is while group `group` of the unit is at element k0: the same place of the
/// next unit, which is one contiguous region and is read linearly.
const std::uint8_t* ahead_of(const Unit& u, int group, std::int64_t k0) {
    if (u.next == nullptr) return nullptr;
    const TensorView& w = u.part->w;
    return u.next + group * kGroupRows * row_bytes(w.dtype, w.cols) +
           kGroupRows * row_bytes(w.dtype, k0);
}

void write_out(const Unit& u, const float* acc, std::int64_t n_cols) {
    const MatmulPart& p = *u.part;
    const float* bias = static_cast<const float*>(p.bias.data);
    for (std::int64_t t = 0; t < n_cols; ++t) {
        float* y = p.y.data + t * p.y.stride + u.row0;
        const float* a = acc + t * kPanelRows;
        if (p.accumulate)
            for (int r = 0; r < u.rows; ++r) y[r] += a[r];
        else if (bias != nullptr)
            for (int r = 0; r < u.rows; ++r) y[r] = a[r] + bias[u.row0 + r];
        else
            std::memcpy(y, a, static_cast<std::size_t>(u.rows) * sizeof(float));
    }
}

void run_unit(const Op& op, const Context& c, const Unit& u) {
    const TensorView& w = u.part->w;
    const bool quantized = is_quantized(w.dtype);
    const int step_k = quantized ? kPanelK : kFloatPanelK;
    const auto n_cols = static_cast<int>(op.x.rows);
    const int groups = (u.rows + kGroupRows - 1) / kGroupRows;
    auto* acc = c.scratch.acc.as<float>();
    std::memset(acc, 0, sizeof(float) * kPanelRows * static_cast<std::size_t>(n_cols));
    PanelIn in{};
    for (int g = 0; g < kPanelGroups; ++g) {
        const PanelOut out = panel_out(c.scratch, std::min(g, groups - 1));
        in.q[g] = out.q;
        in.scale[g] = out.scale;
        in.addend[g] = out.addend;
    }
    for (std::int64_t k0 = 0; k0 < w.cols; k0 += step_k) {
        const auto nk = static_cast<int>(std::min<std::int64_t>(step_k, w.cols - k0));
        for (int g = 0; g < groups; ++g)
            unpack_group(c, w, u.row0 + g * kGroupRows,
                         std::min(kGroupRows, u.rows - g * kGroupRows), k0, nk, g,
                         ahead_of(u, g, k0));
        if (quantized) {
            in.n = nk / 32;
            const ActBlock* x = activations_of(op, c) + k0 / 32 * n_cols;
            c.kernels.panel[static_cast<int>(panel_kind(w.dtype))](in, x, in.n, n_cols, acc);
        } else {
            in.n = nk;
            c.kernels.panel_floats(in, op.x.data + k0, op.x.stride, n_cols, acc);
        }
    }
    write_out(u, acc, n_cols);
}

Unit unit_at(const MatmulPart& part, std::int64_t index) {
    const std::int64_t row0 = index * kPanelRows;
    return {&part, row0, static_cast<int>(std::min<std::int64_t>(kPanelRows, part.w.rows - row0))};
}

const std::uint8_t* address(const Unit& u) {
    const TensorView& w = u.part->w;
    return static_cast<const std::uint8_t*>(w.data) + u.row0 * row_bytes(w.dtype, w.cols);
}

/// Calls f(unit) for this worker's units in the order of the weights' bytes, until f is false: a
/// unit belongs to the worker in whose share of the bytes it starts.
template <typename Call>
void each_streamed_unit(const Op& op, const Context& c, Call f) {
    const MatmulPart* parts = c.step.parts.data() + op.first_part;
    const MatmulPart& end = parts[op.n_parts - 1];
    const Range bytes = share(end.bytes_before + end.w.bytes(), c);
    for (int p = 0; p < op.n_parts; ++p) {
        const MatmulPart& part = parts[p];
        const std::int64_t unit_bytes = kPanelRows * row_bytes(part.w.dtype, part.w.cols);
        const auto first_at = [&](std::int64_t byte) {  // first unit that starts at byte or later
            const std::int64_t local = byte - part.bytes_before;
            const std::int64_t u = local <= 0 ? 0 : (local + unit_bytes - 1) / unit_bytes;
            return std::min<std::int64_t>(u, part.units);
        };
        const std::int64_t last = first_at(bytes.last);
        for (std::int64_t u = first_at(bytes.first); u < last; ++u)
            if (!f(unit_at(part, u))) return;
    }
}

void run_streaming(const Op& op, const Context& c) {
    Unit current{};
    each_streamed_unit(op, c, [&](const Unit& u) {
        if (current.part != nullptr) {
            current.next = address(u);
            run_unit(op, c, current);
        }
        current = u;
        return !c.step.should_stop();
    });
    if (current.part == nullptr || c.step.should_stop()) return;
    if (op.next_matmul >= 0) {
        const Op& following = c.step.ops[static_cast<std::size_t>(op.next_matmul)];
        each_streamed_unit(following, c, [&](const Unit& u) {
            current.next = address(u);
            return false;
        });
    }
    run_unit(op, c, current);
}

void run_dynamic(const Op& op, const Context& c) {
    const MatmulPart* parts = c.step.parts.data() + op.first_part;
    std::int64_t total = 0;
    for (int p = 0; p < op.n_parts; ++p) total += parts[p].units;
    for (;;) {
        std::int64_t u = c.counter.next.fetch_add(1, std::memory_order_relaxed);
        if (u >= total || c.step.should_stop()) return;
        int p = 0;
        while (u >= parts[p].units) u -= parts[p++].units;
        run_unit(op, c, unit_at(parts[p], u));
    }
}

}  // namespace

/// Activations lie as [piece of kPanelK][column][block]: a panel call reads them in one stream.
void run_quantize(const Op& op, const Context& c) {
    const std::int64_t blocks = op.x.cols / 32, n = op.x.rows;
    constexpr std::int64_t kPiece = kPanelK / 32;
    if (op.is_private) {
        auto* out = static_cast<ActBlock*>(
            c.scratch.activations.reserve(sizeof(ActBlock) * static_cast<std::size_t>(blocks)));
        // op.y: the row where rms_norm left this worker's copy, else the row itself
        c.kernels.quantize(op.y.data == nullptr ? op.x.data : c.scratch.row.as<float>(), blocks,
                           out);
        return;
    }
    auto* out = c.step.activations.as<ActBlock>();
    // One row is cut into runs of blocks, many rows by row; the gate before it cuts the same way.
    if (n == 1) {
        const Range r = share(blocks, c);
        c.kernels.quantize(op.x.data + r.first * 32, r.last - r.first, out + r.first);
        return;
    }
    const Range rows = share(n, c);
    for (std::int64_t t = rows.first; t < rows.last && !c.step.should_stop(); ++t) {
        const float* x = op.x.data + t * op.x.stride;
        for (std::int64_t b = 0; b < blocks; b += kPiece) {
            const std::int64_t count = std::min(kPiece, blocks - b);
            c.kernels.quantize(x + b * 32, count, out + b * n + t * count);
        }
    }
}

void run_matmul(const Op& op, const Context& c) {
    c.scratch.acc.reserve(sizeof(float) * kPanelRows * static_cast<std::size_t>(op.x.rows));
    if (op.x.rows < kStreamingColumns)
        run_streaming(op, c);
    else
        run_dynamic(op, c);
}

}  // namespace hearth::cpu
