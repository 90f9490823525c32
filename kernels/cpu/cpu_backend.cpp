#include "kernels/cpu/cpu_backend.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/mman.h>

#include "kernels/op_checks.h"

namespace hearth::cpu {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

/// Zero pages from the system, 2 MiB aligned, huge pages advised.
void* map_large(std::size_t bytes) {
    const std::size_t size = round_up(bytes, kHugePage);
    void* raw = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    auto* base = static_cast<std::uint8_t*>(raw);
    const std::size_t skip = round_up(reinterpret_cast<std::uintptr_t>(base), kHugePage) -
                             reinterpret_cast<std::uintptr_t>(base);
    if (skip > 0) munmap(base, skip);
    if (skip < kHugePage) munmap(base + skip + size, kHugePage - skip);
    madvise(base + skip, size, MADV_HUGEPAGE);
    return base + skip;
}

AttentionShape flatten(const AttentionSpec& s) {
    return {s.n_heads, s.n_kv_heads, s.head_dim, s.window, s.scale, s.softcap};
}

}  // namespace

Buffer::~Buffer() { std::free(data_); }

void* Buffer::reserve(std::size_t bytes) {
    if (bytes <= bytes_) return data_;
    std::free(data_);
    bytes_ = round_up(bytes, 4096);
    data_ = std::aligned_alloc(64, bytes_);
    check(data_ != nullptr, "out of memory for scratch");
    std::memset(data_, 0, bytes_);
    return data_;
}

CpuBackend::CpuBackend(CpuIsa isa, int n_threads) : kernels_(kernels_for(isa)), pool_(n_threads) {
    info_.name = "cpu";
    info_.detail = std::string(cpu_isa_name(isa)) + ", " + std::to_string(n_threads) +
                   (n_threads == 1 ? " thread" : " threads");
    info_.n_threads = n_threads;
    for (int i = 0; i < n_threads; ++i) scratch_.push_back(std::make_unique<Scratch>());
    step_.shares = std::make_unique<UnitShare[]>(static_cast<std::size_t>(n_threads));
}

void* CpuBackend::allocate(std::size_t bytes) {
    if (bytes >= kHugePage) return map_large(bytes);
    const std::size_t size = round_up(std::max<std::size_t>(bytes, 1), 64);
    void* p = std::aligned_alloc(64, size);
    if (p != nullptr) std::memset(p, 0, size);
    return p;
}

void CpuBackend::release(void* p, std::size_t bytes) {
    if (p == nullptr) return;
    if (bytes >= kHugePage)
        munmap(p, round_up(bytes, kHugePage));
    else
        std::free(p);
}

void CpuBackend::discard(void* p, std::size_t bytes) {
    constexpr std::size_t kPage = 4096;
    auto* first = static_cast<std::uint8_t*>(p);
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    const std::size_t head = std::min(bytes, round_up(at, kPage) - at);
    const std::size_t whole = (bytes - head) / kPage * kPage;
    // Private anonymous memory reads as zero after MADV_DONTNEED (madvise(2)).
    if (bytes < kHugePage || madvise(first + head, whole, MADV_DONTNEED) != 0) {
        std::memset(p, 0, bytes);
        return;
    }
    std::memset(first, 0, head);
    std::memset(first + head + whole, 0, bytes - head - whole);
}

Op& CpuBackend::add(OpKind kind) {
    step_.ops.emplace_back();
    step_.ops.back().kind = kind;
    return step_.ops.back();
}

void CpuBackend::begin(const BatchView& batch) {
    step_.batch = batch;
    step_.ops.clear();
    step_.parts.clear();
    for (RopeTable& t : step_.ropes) t.used = false;
    step_.sequence_of_row.assign(batch.tokens.size(), 0);
    int row = 0;
    for (std::size_t s = 0; s < batch.sequences.size(); ++s) {
        const SequenceSpan& span = batch.sequences[s];
        check(span.first_row == row, "batch: sequences must cover the rows in order");
        for (int i = 0; i < span.n_rows; ++i, ++row)
            step_.sequence_of_row[static_cast<std::size_t>(row)] = static_cast<int>(s);
    }
    check(batch.sequences.empty() || row == static_cast<int>(batch.tokens.size()),
          "batch: sequences must cover all rows");
}

void CpuBackend::embed(MatrixView y, const TensorView& table, float scale) {
    check_embed(y, table, static_cast<std::int64_t>(step_.batch.tokens.size()));
    Op& op = add(OpKind::embed);
    op.y = y;
    op.w = table;
    op.value = scale;
}

void CpuBackend::rms_norm(MatrixView y, MatrixView x, const TensorView& weight, float eps,
                          bool accumulate) {
    check_rms_norm(y, x, weight);
    Op& op = add(OpKind::rms_norm);
    op.y = y;
    op.x = x;
    op.w = weight;
    op.value = eps;
    op.accumulate = accumulate;
}

void CpuBackend::head_norm(MatrixView x, const TensorView& weight, int head_dim, float eps) {
    check_head_norm(x, weight, head_dim);
    Op& op = add(OpKind::head_norm);
    op.x = x;
    op.w = weight;
    op.value = eps;
    op.head_dim = head_dim;
}

void CpuBackend::matmul(MatrixView y, MatrixView x, const TensorView& w, const TensorView& bias,
                        bool accumulate) {
    check_matmul(y, x, w, bias, accumulate);
    check(w.rows <= UnitShare::kUnitLimit, "matmul: rows");
    if (x.rows == 0) return;
    const bool quantized = is_quantized(w.dtype);
    Op* last = step_.ops.empty() ? nullptr : &step_.ops.back();
    // Same x as the op before: one segment, one quantization, unless it writes the same output.
    const auto writes_y = [&](const MatmulPart& p) { return p.y.data == y.data; };
    const bool joins =
        last != nullptr && last->kind == OpKind::matmul && same_rows(last->x, x) && quantized &&
        is_quantized(step_.parts.back().w.dtype) &&
        std::none_of(step_.parts.begin() + last->first_part, step_.parts.end(), writes_y);
    if (!joins) {
        if (quantized) add(OpKind::quantize).x = x;
        Op& op = add(OpKind::matmul);
        op.x = x;
        op.first_part = static_cast<int>(step_.parts.size());
        last = &op;
    }
    MatmulPart part;
    part.y = y;
    part.w = w;
    part.bias = bias;
    part.accumulate = accumulate;
    part.units = static_cast<int>((w.rows + kPanelRows - 1) / kPanelRows);
    part.row_bytes = row_bytes(w.dtype, w.cols);
    part.step_bytes = row_bytes(w.dtype, kPieceElems);
    if (last->n_parts > 0)
        part.bytes_before = step_.parts.back().bytes_before + step_.parts.back().w.bytes();
    step_.parts.push_back(part);
    ++last->n_parts;
}

int CpuBackend::rope_table(const RopeSpec& spec) {
    if (spec.pairing == RopePairing::none || spec.n_dims == 0) return -1;
    check(static_cast<int>(spec.inv_freq.size()) * 2 == spec.n_dims,
          "rope: n_dims / 2 frequencies");
    const auto same = [&](const RopeTable& t) {
        return t.spec.pairing == spec.pairing && t.spec.n_dims == spec.n_dims &&
               t.spec.magnitude == spec.magnitude && t.spec.inv_freq == spec.inv_freq;
    };
    auto it = std::find_if(step_.ropes.begin(), step_.ropes.end(), same);
    if (it == step_.ropes.end()) {
        step_.ropes.emplace_back().spec = spec;
        it = step_.ropes.end() - 1;
    }
    if (!it->used) {
        it->used = true;
        const std::size_t n = step_.batch.tokens.size() * spec.inv_freq.size();
        it->cos.resize(n);
        it->sin.resize(n);
    }
    return static_cast<int>(it - step_.ropes.begin());
}

void CpuBackend::rope_store_kv(MatrixView q, MatrixView k, MatrixView v, const KvLayer& kv,
                               const AttentionSpec& spec) {
    check_rope_store_kv(q, k, v, spec);
    Op& op = add(OpKind::rope_store_kv);
    op.y = q;
    op.x = k;
    op.extra = v;
    op.kv = kv;
    op.shape = flatten(spec);
    op.rope = rope_table(spec.rope);
}

void CpuBackend::attention(MatrixView y, MatrixView q, const KvLayer& kv,
                           const AttentionSpec& spec) {
    check_attention(y, q, spec);
    Op& op = add(OpKind::attention);
    op.y = y;
    op.x = q;
    op.kv = kv;
    op.shape = flatten(spec);
    plan_attention(op, step_.batch, pool_.size());
    if (op.n_partitions == 0) return;
    Op merge = op;
    merge.kind = OpKind::attention_merge;
    step_.partials.reserve(sizeof(float) * static_cast<std::size_t>(q.rows * spec.n_heads) *
                           static_cast<std::size_t>(op.n_partitions * (spec.head_dim + 16)));
    step_.ops.push_back(merge);
}

void CpuBackend::gated(MatrixView gate, MatrixView up, GatedActivation act) {
    check_gated(gate, up);
    Op& op = add(OpKind::gated);
    op.y = gate;
    op.x = up;
    op.act = act;
}

void CpuBackend::gather_outputs(MatrixView y, MatrixView x) {
    check_gather_outputs(y, x, static_cast<std::int64_t>(step_.batch.output_rows.size()));
    Op& op = add(OpKind::gather_outputs);
    op.y = y;
    op.x = x;
}

void CpuBackend::softcap(MatrixView x, float cap) {
    Op& op = add(OpKind::softcap);
    op.x = x;
    op.value = cap;
}

void CpuBackend::execute(const Op& op, const Context& c) {
    switch (op.kind) {
        case OpKind::rope_table:
            return run_rope_table(op, c);
        case OpKind::embed:
            return run_embed(op, c);
        case OpKind::rms_norm:
            return run_rms_norm(op, c);
        case OpKind::head_norm:
            return run_head_norm(op, c);
        case OpKind::quantize:
            return run_quantize(op, c);
        case OpKind::matmul:
            return run_matmul(op, c);
        case OpKind::rope_store_kv:
            return run_rope_store_kv(op, c);
        case OpKind::attention:
            return run_attention(op, c);
        case OpKind::attention_merge:
            return run_attention_merge(op, c);
        case OpKind::gated:
            return run_gated(op, c);
        case OpKind::gather_outputs:
            return run_gather_outputs(op, c);
        case OpKind::softcap:
            return run_softcap(op, c);
    }
}

void CpuBackend::run_worker(int worker) {
    Scratch& scratch = *scratch_[static_cast<std::size_t>(worker)];
    for (std::size_t i = 0; i < step_.ops.size(); ++i) {
        const Op& op = step_.ops[i];
        const Context c{kernels_, step_, scratch, step_.counters[i], worker, pool_.size()};
        // After a stop every worker still passes every barrier; they only stop computing.
        if (!step_.should_stop()) execute(op, c);
        if (op.barrier_after && i + 1 < step_.ops.size()) pool_.barrier();
    }
}

/// Decides which barriers the recorded step can do without, and what is read ahead.
void CpuBackend::plan() {
    // A row up to this size is normed or quantized by every worker sooner than handed over.
    constexpr std::int64_t kPrivateColumns = 4096;
    int next_matmul = -1;
    for (std::size_t i = step_.ops.size(); i-- > 0;) {
        Op& op = step_.ops[i];
        if (op.kind == OpKind::matmul) {
            op.next_matmul = next_matmul;
            next_matmul = op.x.rows < 16 ? static_cast<int>(i) : -1;
            step_.share_number = (step_.share_number + 1) & 0xffffffu;
            op.share_number = step_.share_number;
        }
        if (op.kind != OpKind::quantize) continue;
        Op* before = i > 0 ? &step_.ops[i - 1] : nullptr;
        const auto makes_x = [&](OpKind kind) {
            return before != nullptr && before->kind == kind && same_rows(before->y, op.x);
        };
        const bool after_norm = makes_x(OpKind::rms_norm) && !before->accumulate;
        // The same worker norms or gates what it quantizes.
        if (makes_x(OpKind::gated)) before->barrier_after = false;
        if (after_norm && op.x.rows > 1) before->barrier_after = false;
        if (op.x.rows != 1 || op.x.cols > kPrivateColumns || makes_x(OpKind::gated)) continue;
        op.is_private = step_.ops[i + 1].is_private = true;
        op.barrier_after = false;
        if (after_norm && before->x.data != before->y.data) {
            before->is_private = true;
            before->barrier_after = false;
            op.y = before->y;
        }
    }
}

bool CpuBackend::run(const std::atomic<bool>* stop) {
    const bool any_rope = std::any_of(step_.ropes.begin(), step_.ropes.end(),
                                      [](const RopeTable& t) { return t.used; });
    if (any_rope) {
        Op table;
        table.kind = OpKind::rope_table;
        table.barrier_after = step_.ops.front().kind == OpKind::rope_store_kv;
        step_.ops.insert(step_.ops.begin(), table);
    }
    plan();
    std::size_t activation_bytes = 0;
    for (const Op& op : step_.ops)
        if (op.kind == OpKind::quantize)
            activation_bytes =
                std::max(activation_bytes,
                         static_cast<std::size_t>(op.x.rows * (op.x.cols / 32)) * sizeof(ActBlock));
    step_.activations.reserve(activation_bytes);
    if (step_.n_counters < step_.ops.size()) {
        step_.n_counters = step_.ops.size() + 64;
        step_.counters = std::make_unique<Counter[]>(step_.n_counters);
    }
    for (std::size_t i = 0; i < step_.ops.size(); ++i) step_.counters[i].next.store(0);
    step_.stop = stop;
    step_.stopped.store(false);
    pool_.run([this](int worker) { run_worker(worker); });
    step_.ops.clear();
    step_.parts.clear();
    return !step_.stopped.load();
}

}  // namespace hearth::cpu

namespace hearth {

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) {
    const std::vector<CpuIsa> isas = supported_cpu_isas();
    const CpuIsa isa = options.isa == CpuIsa::automatic ? isas.back() : options.isa;
    if (std::find(isas.begin(), isas.end(), isa) == isas.end()) return nullptr;
    const int n = options.n_threads > 0 ? options.n_threads : default_cpu_threads();
    return std::make_unique<cpu::CpuBackend>(isa, n);
}

}  // namespace hearth
