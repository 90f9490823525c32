// The ops on rows: embed, norms, rope with KV store, gate, gather, softcap. Work is cut by rows;
// what one row costs is memory traffic of its inputs and outputs.
//
// source    RMSNorm: Zhang & Sennrich 2019, eq. 4; rope: Su et al. 2021, eq. 34
// shapes    backend.h
// bound     memory; one row (decode) is bound by the barrier after it
// oracle    tests/reference/ops.h
#include <cstring>

#include "kernels/cpu/program.h"
#include "kernels/math.h"
#include "kernels/quant.h"

namespace hearth::cpu {

void run_embed(const Op& op, const Context& c) {
    const Range rows = share(op.y.rows, c);
    const std::int64_t stride = row_bytes(op.w.dtype, op.w.cols);
    for (std::int64_t t = rows.first; t < rows.last; ++t) {
        const auto token = c.step.batch.tokens[static_cast<std::size_t>(t)];
        float* y = op.y.data + t * op.y.stride;
        dequantize_row(op.w.dtype, static_cast<const std::uint8_t*>(op.w.data) + token * stride, y,
                       op.w.cols);
        for (std::int64_t k = 0; k < op.w.cols; ++k) y[k] *= op.value;
    }
}

void run_rms_norm(const Op& op, const Context& c) {
    const auto* w = static_cast<const float*>(op.w.data);
    if (op.is_private) {  // each worker norms the row for itself; one of them also stores it
        const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(op.x.cols);
        auto* row = static_cast<float*>(c.scratch.row.reserve(bytes));
        c.kernels.rms_norm(op.x.data, w, row, op.x.cols, op.value, false);
        if (c.worker == 0) std::memcpy(op.y.data, row, bytes);
        return;
    }
    const Range rows = share(op.x.rows, c);
    for (std::int64_t t = rows.first; t < rows.last; ++t)
        c.kernels.rms_norm(op.x.data + t * op.x.stride, w, op.y.data + t * op.y.stride, op.x.cols,
                           op.value, op.accumulate);
}

void run_head_norm(const Op& op, const Context& c) {
    const std::int64_t heads = op.x.cols / op.head_dim;
    const Range items = share(op.x.rows * heads, c);
    const auto* w = static_cast<const float*>(op.w.data);
    for (std::int64_t i = items.first; i < items.last; ++i) {
        float* x = op.x.data + i / heads * op.x.stride + i % heads * op.head_dim;
        c.kernels.rms_norm(x, w, x, op.head_dim, op.value, false);
    }
}

void run_rope_table(const Op&, const Context& c) {
    const auto n = static_cast<std::int64_t>(c.step.batch.tokens.size());
    const Range rows = share(n, c);
    for (RopeTable& table : c.step.ropes) {
        if (!table.used) continue;
        const std::size_t pairs = table.spec.inv_freq.size();
        for (std::int64_t t = rows.first; t < rows.last; ++t) {
            const auto& s = c.step.batch.sequences[static_cast<std::size_t>(
                c.step.sequence_of_row[static_cast<std::size_t>(t)])];
            const double position = s.first_position + static_cast<double>(t - s.first_row);
            for (std::size_t i = 0; i < pairs; ++i) {
                const SinCos a = own_sincos(position * table.spec.inv_freq[i]);
                const std::size_t at = static_cast<std::size_t>(t) * pairs + i;
                table.cos[at] = static_cast<float>(a.cos) * table.spec.magnitude;
                table.sin[at] = static_cast<float>(a.sin) * table.spec.magnitude;
            }
        }
    }
}

namespace {

/// Writes one token's key and value of one kv head into its page.
void store_token(const Op& op, const Context& c, std::int64_t position, const std::int32_t* pages,
                 int g, const float* k, const float* v) {
    const int d = op.shape.head_dim;
    const std::int64_t element = row_bytes(op.kv.dtype, 1);
    const std::int64_t slot = position % kPageTokens;
    const std::int64_t page = pages[position / kPageTokens] * op.kv.page_bytes;
    const std::int64_t head = static_cast<std::int64_t>(g) * d * kPageTokens;
    auto* keys = static_cast<std::uint8_t*>(op.kv.keys) + page + (head + slot) * element;
    auto* values = static_cast<std::uint8_t*>(op.kv.values) + page + (head + slot * d) * element;
    c.kernels.store_kv(k, d, keys, kPageTokens, op.kv.dtype);
    c.kernels.store_kv(v, d, values, 1, op.kv.dtype);
}

}  // namespace

void run_rope_store_kv(const Op& op, const Context& c) {
    const int d = op.shape.head_dim, n_heads = op.shape.n_heads;
    const std::int64_t heads = n_heads + op.shape.n_kv_heads;
    const RopeTable* table =
        op.rope >= 0 ? &c.step.ropes[static_cast<std::size_t>(op.rope)] : nullptr;
    const Range items = share(op.y.rows * heads, c);
    for (std::int64_t i = items.first; i < items.last; ++i) {
        const std::int64_t t = i / heads;
        const auto h = static_cast<int>(i % heads);
        const bool is_query = h < n_heads;
        float* head =
            is_query ? op.y.data + t * op.y.stride + static_cast<std::int64_t>(h) * d
                     : op.x.data + t * op.x.stride + static_cast<std::int64_t>(h - n_heads) * d;
        if (table != nullptr) {
            const auto at = static_cast<std::size_t>(t) * table->spec.inv_freq.size();
            c.kernels.rope(head, table->cos.data() + at, table->sin.data() + at, table->spec.n_dims,
                           table->spec.pairing == RopePairing::half_split);
        }
        if (is_query) continue;
        const auto& s = c.step.batch.sequences[static_cast<std::size_t>(
            c.step.sequence_of_row[static_cast<std::size_t>(t)])];
        const float* v =
            op.extra.data + t * op.extra.stride + static_cast<std::int64_t>(h - n_heads) * d;
        store_token(op, c, s.first_position + (t - s.first_row), s.pages, h - n_heads, head, v);
    }
}

void run_gated(const Op& op, const Context& c) {
    if (op.y.rows == 1) {  // cut the row at multiples of 32, as run_quantize does
        const Range r = share((op.y.cols + 31) / 32, c);
        const std::int64_t first = r.first * 32;
        const std::int64_t last = r.last * 32 < op.y.cols ? r.last * 32 : op.y.cols;
        c.kernels.gated(op.y.data + first, op.x.data + first, last - first, op.act);
        return;
    }
    const Range rows = share(op.y.rows, c);
    for (std::int64_t t = rows.first; t < rows.last && !c.step.should_stop(); ++t)
        c.kernels.gated(op.y.data + t * op.y.stride, op.x.data + t * op.x.stride, op.y.cols,
                        op.act);
}

void run_gather_outputs(const Op& op, const Context& c) {
    const Range rows = share(op.y.rows, c);
    for (std::int64_t r = rows.first; r < rows.last; ++r)
        std::memcpy(op.y.data + r * op.y.stride,
                    op.x.data + c.step.batch.output_rows[static_cast<std::size_t>(r)] * op.x.stride,
                    static_cast<std::size_t>(op.y.cols) * sizeof(float));
}

void run_softcap(const Op& op, const Context& c) {
    const std::int64_t runs = (op.x.cols + 15) / 16;
    const Range items = share(op.x.rows * runs, c);
    for (std::int64_t i = items.first; i < items.last; ++i) {
        const std::int64_t first = i % runs * 16;
        const std::int64_t n = op.x.cols - first < 16 ? op.x.cols - first : 16;
        c.kernels.softcap(op.x.data + i / runs * op.x.stride + first, n, op.value);
    }
}

}  // namespace hearth::cpu
