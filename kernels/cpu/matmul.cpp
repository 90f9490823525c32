// matmul: y[t,m] = sum_k x[t,k] w[m,k]  (+ bias[m], or y += )
//
// source    layout and scheduling: README.md, "matmul"
// shapes    x (n, K)   w (M, K) in blocks   y (n, M)   bias (M)
// traffic   bytes(w) + 2 * n * K per 32 rows of cache traffic; 2 * n * M * K ops
// bound     memory for n below about 8, int8 multiply-add above
// mapping   a unit is 32 rows: unpacked 512 elements of K at a time into a panel in L1, which all
//           columns then pass. Few columns: each worker streams one contiguous range of rows,
//           prefetches its next unit, and helps the others when it is done; many: runs of units are
//           taken from a counter, and all units of a run pass a piece of the activations (in L2)
//           before the next piece is begun
// oracle    tests/reference/ops.h: matmul
#include <algorithm>
#include <cstring>

#include "kernels/check.h"
#include "kernels/cpu/program.h"

namespace hearth::cpu {
namespace {

/// Fewer columns than this: contiguous ranges of rows.
constexpr std::int64_t kStreamingColumns = 16;
/// Units that share a piece of the activations while it is in L2.
constexpr int kMostUnits = 4;
/// Columns between two pieces of reading ahead; a multiple of the columns held in registers.
constexpr int kColumnsPerCall = 48;

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
void unpack_group(const Context& c, const MatmulPart& part, std::int64_t row0, int rows,
                  std::int64_t k0, int nk, int group, const std::uint8_t* ahead) {
    const TensorView& w = part.w;
    const Kernels::Unpack unpack = c.kernels.unpack[static_cast<int>(w.dtype)];
    const std::int64_t stride = part.row_bytes;
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
    return u.next +
           kGroupRows * (group * u.part->row_bytes + k0 / kPieceElems * u.part->step_bytes);
}

void write_column(const Unit& u, const float* a, std::int64_t t) {
    const MatmulPart& p = *u.part;
    float* y = p.y.data + t * p.y.stride + u.row0;
    if (u.rows == kPanelRows && p.bias.data == nullptr) {  // the loops with a fixed count
        if (p.accumulate)
            for (int r = 0; r < kPanelRows; ++r) y[r] += a[r];
        else
            std::memcpy(y, a, sizeof(float) * kPanelRows);
        return;
    }
    const float* bias = static_cast<const float*>(p.bias.data);
    for (int r = 0; r < u.rows; ++r) {
        const float sum = bias != nullptr ? a[r] + bias[u.row0 + r] : a[r];
        y[r] = p.accumulate ? y[r] + sum : sum;
    }
}

/// The panel of a unit at k0, unpacked into the worker's scratch.
PanelIn make_panel(const Context& c, const Unit& u, std::int64_t k0, int nk) {
    const TensorView& w = u.part->w;
    const int groups = (u.rows + kGroupRows - 1) / kGroupRows;
    for (int g = 0; g < groups; ++g)
        unpack_group(c, *u.part, u.row0 + g * kGroupRows,
                     std::min(kGroupRows, u.rows - g * kGroupRows), k0, nk, g, ahead_of(u, g, k0));
    PanelIn in{};
    in.n = is_quantized(w.dtype) ? nk / 32 : nk;
    for (int g = 0; g < kPanelGroups; ++g) {
        const PanelOut out = panel_out(c.scratch, std::min(g, groups - 1));
        in.q[g] = out.q;
        in.scale[g] = out.scale;
        in.addend[g] = out.addend;
    }
    return in;
}

/// Columns [first, first + n) through a panel.
void pass(const Op& op, const Context& c, const TensorView& w, const PanelIn& in, std::int64_t k0,
          int first, int n, float* acc) {
    const std::int64_t n_cols = op.x.rows;
    if (is_quantized(w.dtype)) {
        const ActBlock* x = activations_of(op, c) + k0 / 32 * n_cols + std::int64_t{first} * in.n;
        c.kernels.panel[static_cast<int>(panel_kind(w.dtype))](in, x, in.n, n, acc);
    } else {
        const float* x = op.x.data + first * op.x.stride + k0;
        c.kernels.panel_floats(in, x, op.x.stride, n, acc);
    }
}

/// Reads ahead what is unpacked next, a part of its rows in each call: a burst would wait for the
/// dozen or so line buffers.
class PanelAhead {
  public:
    PanelAhead(const Unit& u, std::int64_t k0, int nk, int n_calls)
        : row_(static_cast<const std::uint8_t*>(u.part->w.data) + u.row0 * u.part->row_bytes +
               k0 / kPieceElems * u.part->step_bytes),
          stride_(u.part->row_bytes),
          bytes_(row_bytes(u.part->w.dtype, nk)),
          rows_(u.rows),
          per_call_((u.rows + n_calls - 1) / n_calls) {}
    void advance() {
        for (int i = 0; i < per_call_ && rows_ > 0; ++i, --rows_, row_ += stride_)
            for (std::int64_t b = 0; b < bytes_; b += 64) __builtin_prefetch(row_ + b, 0, 2);
    }

  private:
    const std::uint8_t* row_;
    std::int64_t stride_, bytes_;
    int rows_, per_call_;
};

int step_k(const TensorView& w) { return is_quantized(w.dtype) ? kPanelK : kFloatPanelK; }

/// `n` units of one part, piece by piece of K.
void run_units(const Op& op, const Context& c, const Unit* units, int n) {
    const TensorView& w = units[0].part->w;
    const auto n_cols = static_cast<int>(op.x.rows);
    const int step = step_k(w);
    const std::int64_t acc_size = std::int64_t{kPanelRows} * n_cols;
    auto* acc = c.scratch.acc.as<float>();
    std::memset(acc, 0, sizeof(float) * static_cast<std::size_t>(acc_size * n));
    const int calls = (n_cols + kColumnsPerCall - 1) / kColumnsPerCall;
    for (std::int64_t k0 = 0; k0 < w.cols; k0 += step) {
        const auto nk = static_cast<int>(std::min<std::int64_t>(step, w.cols - k0));
        for (int i = 0; i < n; ++i) {
            const PanelIn in = make_panel(c, units[i], k0, nk);
            const std::int64_t next_k = i + 1 < n ? k0 : std::min(k0 + step, w.cols - nk);
            PanelAhead ahead(units[(i + 1) % n], next_k, nk, calls);
            for (int first = 0; first < n_cols; first += kColumnsPerCall) {
                if (calls > 1) ahead.advance();
                pass(op, c, w, in, k0, first, std::min(kColumnsPerCall, n_cols - first),
                     acc + i * acc_size + std::int64_t{first} * kPanelRows);
            }
        }
    }
    for (std::int64_t t = 0; t < n_cols; ++t)
        for (int i = 0; i < n; ++i) write_column(units[i], acc + i * acc_size + t * kPanelRows, t);
}

Unit unit_at(const MatmulPart& part, std::int64_t index) {
    const std::int64_t row0 = index * kPanelRows;
    return {&part, row0, static_cast<int>(std::min<std::int64_t>(kPanelRows, part.w.rows - row0))};
}

const std::uint8_t* address(const Unit& u) {
    return static_cast<const std::uint8_t*>(u.part->w.data) + u.row0 * u.part->row_bytes;
}

/// The units of all parts of an op, numbered in the order of the weights' bytes.
Unit unit_of(const Op& op, const Step& step, std::int64_t index) {
    const MatmulPart* part = step.parts.data() + op.first_part;
    while (index >= part->units) index -= (part++)->units;
    return unit_at(*part, index);
}

/// The units of a worker: those that start in its share of the bytes.
Range units_of(const Op& op, const Context& c, int worker) {
    const MatmulPart* parts = c.step.parts.data() + op.first_part;
    const MatmulPart& end = parts[op.n_parts - 1];
    const auto first_at = [&](std::int64_t byte) {  // first unit that starts at byte or later
        std::int64_t index = 0;
        for (int p = 0; p < op.n_parts; ++p) {
            const std::int64_t unit_bytes = kPanelRows * parts[p].row_bytes;
            const std::int64_t local = std::max<std::int64_t>(byte - parts[p].bytes_before, 0);
            index += std::min<std::int64_t>((local + unit_bytes - 1) / unit_bytes, parts[p].units);
        }
        return index;
    };
    const Range bytes = share_of(end.bytes_before + end.w.bytes(), worker, c.n_workers);
    return {first_at(bytes.first), first_at(bytes.last)};
}

/// What this worker reads after its share of `op`.
const std::uint8_t* after_share(const Op& op, const Context& c) {
    if (op.next_matmul < 0) return nullptr;
    const Op& following = c.step.ops[static_cast<std::size_t>(op.next_matmul)];
    const Range units = units_of(following, c, c.worker);
    return units.empty() ? nullptr : address(unit_of(following, c.step, units.first));
}

/// Units at once: enough bytes that taking them costs nothing.
std::int64_t piece_of(const Op& op, const Context& c) {
    constexpr std::int64_t kPieceBytes = 32 << 10;
    const MatmulPart& part = c.step.parts[static_cast<std::size_t>(op.first_part)];
    return std::max<std::int64_t>(kPieceBytes / (kPanelRows * part.row_bytes), 1);
}

void run_streaming(const Op& op, const Context& c) {
    const std::int64_t piece = piece_of(op, c);
    for (int i = 0; i < c.n_workers; ++i) {
        const int worker = (c.worker + i) % c.n_workers;
        const Range all = units_of(op, c, worker);
        UnitShare& share = c.step.shares[static_cast<std::size_t>(worker)];
        while (!c.step.should_stop()) {
            const Range taken = i == 0 ? share.take_front(op.share_number, all, piece)
                                       : share.take_back(op.share_number, all, piece);
            if (taken.empty()) break;
            for (std::int64_t u = taken.first; u < taken.last; ++u) {
                Unit unit = unit_of(op, c.step, u);
                if (i == 0 || u + 1 < taken.last)
                    unit.next =
                        u + 1 < all.last ? address(unit_of(op, c.step, u + 1)) : after_share(op, c);
                run_units(op, c, &unit, 1);
            }
        }
    }
}

void run_dynamic(const Op& op, const Context& c) {
    const MatmulPart* parts = c.step.parts.data() + op.first_part;
    std::int64_t units = 0;
    for (int p = 0; p < op.n_parts; ++p) units += parts[p].units;
    // Long runs save cache traffic, short ones share the work evenly.
    const std::int64_t run = std::clamp<std::int64_t>(units / (4 * c.n_workers), 1, kMostUnits);
    std::int64_t total = 0;
    for (int p = 0; p < op.n_parts; ++p) total += (parts[p].units + run - 1) / run;
    for (;;) {
        std::int64_t i = c.counter.next.fetch_add(1, std::memory_order_relaxed);
        if (i >= total || c.step.should_stop()) return;
        int p = 0;
        while (i >= (parts[p].units + run - 1) / run) i -= (parts[p++].units + run - 1) / run;
        Unit item[kMostUnits];
        int n = 0;
        for (std::int64_t u = i * run; u < std::min<std::int64_t>(parts[p].units, (i + 1) * run);
             ++u)
            item[n++] = unit_at(parts[p], u);
        run_units(op, c, item, n);
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
    const int units = op.x.rows < kStreamingColumns ? 1 : kMostUnits;
    c.scratch.acc.reserve(sizeof(float) * kPanelRows * static_cast<std::size_t>(op.x.rows * units));
    if (op.x.rows < kStreamingColumns)
        run_streaming(op, c);
    else
        run_dynamic(op, c);
}

}  // namespace hearth::cpu
