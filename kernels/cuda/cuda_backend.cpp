#include "kernels/cuda/cuda_backend.h"

#include <algorithm>
#include <utility>

#include "kernels/op_checks.h"

namespace hearth::cuda {
namespace {

/// Memory that partitions of attention may take; longer steps walk them in one block.
constexpr std::size_t kMostPartialBytes = std::size_t{64} << 20;
/// Launches between two looks at how far the card is, in steps of many rows.
constexpr std::size_t kPace = 16;
constexpr std::int64_t kFewRows = 16;

}  // namespace

CudaBackend::CudaBackend(const CardStatus& card, int device)
    : device_(device),
      n_multiprocessors_(card.n_multiprocessors) {
    info_.name = "cuda";
    info_.detail = card.text;
}

CudaBackend::~CudaBackend() { cudaStreamSynchronize(stream_.get); }

bool CudaBackend::check_error(cudaError_t e, const char* what) {
    if (e == cudaSuccess) return true;
    if (failure_.empty())
        failure_ = std::string("the card stopped computing (") + what +
                   "): " + cudaGetErrorString(e) +
                   "; start hearth again, or without it (--isa auto)";
    return false;
}

void* CudaBackend::allocate(std::size_t bytes) {
    void* p = nullptr;
    cudaSetDevice(device_);
    if (cudaMalloc(&p, std::max<std::size_t>(bytes, 1)) != cudaSuccess) {
        cudaGetLastError();
        return nullptr;
    }
    discard(p, bytes);
    return p;
}

void CudaBackend::release(void* p, std::size_t) { cudaFree(p); }

void CudaBackend::discard(void* p, std::size_t bytes) {
    check_error(cudaMemsetAsync(p, 0, bytes, stream_.get), "clearing memory");
    check_error(cudaStreamSynchronize(stream_.get), "clearing memory");
}

void CudaBackend::copy(void* to, const void* from, std::size_t bytes) {
    check_error(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get), "copying");
    check_error(cudaStreamSynchronize(stream_.get), "copying");
}

std::int64_t CudaBackend::free_bytes() const {
    std::size_t free = 0, total = 0;
    cudaSetDevice(device_);
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) return 0;
    return static_cast<std::int64_t>(free);
}

std::string CudaBackend::load_weights(std::span<const TensorView> weights,
                                      const Progress& progress) {
    cudaSetDevice(device_);
    return weights_.load(weights, progress);
}

CudaBackend::Workspace CudaBackend::workspace(const StepLimits& l) const {
    const std::int64_t groups = (l.widest_input + kGroupElems - 1) / kGroupElems;
    const std::int64_t parts =
        2 * ((std::int64_t{l.pages} * kPageTokens + kPartition - 1) / kPartition);
    const std::int64_t tile = kAttentionRows * (l.head_dim + 2) * std::int64_t{sizeof(float)};
    const std::int64_t most = 2 * n_multiprocessors_ * parts * tile;
    return {quantized_bytes(l.rows, static_cast<int>(groups)),
            std::min<std::int64_t>(most, kMostPartialBytes), StepInputs::bytes_for(l)};
}

std::int64_t CudaBackend::workspace_bytes(const StepLimits& limits) const {
    const Workspace w = workspace(limits);
    return w.quantized + w.partials + w.inputs;
}

void CudaBackend::drop_weights() {
    graphs_.clear();
    weights_.clear();
}

bool CudaBackend::reserve(const StepLimits& limits) {
    cudaSetDevice(device_);
    graphs_.clear();
    const Workspace w = workspace(limits);
    const auto take = [](DeviceBuffer& b, std::int64_t bytes) {
        return b.reserve(static_cast<std::size_t>(bytes)) == cudaSuccess;
    };
    const auto logits = static_cast<std::size_t>(limits.outputs * limits.vocab_size) * 4;
    const bool ok = take(quantized_memory_, w.quantized) && take(partials_, w.partials) &&
                    inputs_.reserve(w.inputs) == cudaSuccess &&
                    host_rows_.reserve(logits) == cudaSuccess;
    if (!ok) cudaGetLastError();
    return ok;
}

MatrixView CudaBackend::on_host(MatrixView m) {
    if (m.rows == 0) return m;
    const auto bytes = static_cast<std::size_t>((m.rows - 1) * m.stride + m.cols) * sizeof(float);
    if (!check_error(host_rows_.reserve(bytes), "reading logits")) return {};
    if (failure_.empty()) copy(host_rows_.as<void>(), m.data, bytes);
    return {host_rows_.as<float>(), m.rows, m.cols, m.stride};
}

CudaBackend::Op& CudaBackend::add(Kind kind) {
    ops_.emplace_back();
    ops_.back().kind = kind;
    if (kind != Kind::matmul) quantized_ = {};
    return ops_.back();
}

DeviceWeight CudaBackend::weight(const TensorView& w) {
    if (!failure_.empty()) return {};
    const DeviceWeight* found = weights_.find(w);
    if (found == nullptr) check_error(cudaErrorMemoryAllocation, "copying a weight");
    return found != nullptr ? *found : DeviceWeight{};
}

const float* CudaBackend::vector(const TensorView& w) {
    return static_cast<const float*>(weight(w).base);
}

void CudaBackend::begin(const BatchView& batch) {
    cudaSetDevice(device_);
    ops_.clear();
    quantized_ = {};
    quantized_bytes_ = partial_bytes_ = 0;
    inputs_.begin(batch);
}

void CudaBackend::embed(MatrixView y, const TensorView& table, float scale) {
    check_embed(y, table, inputs_.n_rows());
    Op& op = add(Kind::embed);
    op.y = y;
    op.w = weight(table);
    op.value = scale;
}

void CudaBackend::rms_norm(MatrixView y, MatrixView x, const TensorView& weight, float eps,
                           bool accumulate) {
    check_rms_norm(y, x, weight);
    Op& op = add(Kind::rms_norm);
    op.y = y;
    op.x = x;
    op.vector = vector(weight);
    op.value = eps;
    op.accumulate = accumulate;
}

void CudaBackend::head_norm(MatrixView x, const TensorView& weight, int head_dim, float eps) {
    check_head_norm(x, weight, head_dim);
    Op& op = add(Kind::head_norm);
    op.x = x;
    op.vector = vector(weight);
    op.value = eps;
    op.head_dim = head_dim;
}

/// Sees to it that the quantized rows of x are there: by the op that makes x, or by one of its own.
void CudaBackend::quantize(const MatrixView& x, int groups) {
    if (same_rows(quantized_, x)) return;
    const auto bytes = static_cast<std::size_t>(quantized_bytes(x.rows, groups));
    quantized_bytes_ = std::max(quantized_bytes_, bytes);
    Op* last = ops_.empty() ? nullptr : &ops_.back();
    const bool makes_x = last != nullptr && same_rows(last->y, x) &&
                         (last->kind == Kind::rms_norm || last->kind == Kind::gated);
    if (makes_x) {
        last->quantize_groups = groups;
    } else {
        Op& op = add(Kind::quantize);
        op.x = x;
        op.quantize_groups = groups;
    }
    quantized_ = x;
}

void CudaBackend::matmul(MatrixView y, MatrixView x, const TensorView& w, const TensorView& bias,
                         bool accumulate) {
    check_matmul(y, x, w, bias, accumulate);
    if (x.rows == 0) return;
    const DeviceWeight device = weight(w);
    if (is_quantized(w.dtype)) quantize(x, device.groups);
    Op& op = add(Kind::matmul);
    op.y = y;
    op.x = x;
    op.w = device;
    op.vector = bias ? vector(bias) : nullptr;
    op.accumulate = accumulate;
}

void CudaBackend::rope_store_kv(MatrixView q, MatrixView k, MatrixView v, const KvLayer& kv,
                                const AttentionSpec& spec) {
    check_rope_store_kv(q, k, v, spec);
    check(kv.dtype == DType::f16 || kv.dtype == DType::bf16, "rope_store_kv: KV is f16 or bf16");
    Op& op = add(Kind::rope_store_kv);
    op.y = q;
    op.x = k;
    op.extra = v;
    op.kv = kv;
    op.spec = spec;
    op.rope = inputs_.rope(spec.rope);
}

void CudaBackend::attention(MatrixView y, MatrixView q, const KvLayer& kv,
                            const AttentionSpec& spec) {
    check_attention(y, q, spec);
    Op& op = add(Kind::attention);
    op.y = y;
    op.x = q;
    op.kv = kv;
    op.spec = spec;
    op.tiles = inputs_.tiles(spec.n_heads / spec.n_kv_heads);
    const auto bytes = sizeof(float) * static_cast<std::size_t>(attention_partial_floats(
                                           op.tiles.n_items, op.tiles.n_parts, spec));
    // Split where one block per tile would leave the card idle. A matter of speed only.
    const bool few = op.tiles.n_items * spec.n_kv_heads < 2 * n_multiprocessors_;
    const bool split = op.tiles.n_parts > 1 && few && bytes <= kMostPartialBytes;
    if (split)
        partial_bytes_ = std::max(partial_bytes_, bytes);
    else
        op.tiles.n_parts = 1;
}

void CudaBackend::gated(MatrixView gate, MatrixView up, GatedActivation act) {
    check_gated(gate, up);
    Op& op = add(Kind::gated);
    op.y = gate;
    op.x = up;
    op.act = act;
}

void CudaBackend::gather_outputs(MatrixView y, MatrixView x) {
    check_gather_outputs(y, x, inputs_.n_outputs());
    Op& op = add(Kind::gather_outputs);
    op.y = y;
    op.x = x;
}

void CudaBackend::softcap(MatrixView x, float cap) {
    Op& op = add(Kind::softcap);
    op.x = x;
    op.value = cap;
}

cudaError_t CudaBackend::execute_attention(const Op& op) {
    const bool split = op.tiles.n_parts > 1;
    const AttentionPlan plan{inputs_.view(op.tiles), inputs_.pages(), op.tiles.n_items,
                             op.tiles.n_parts, split ? partials_.as<float>() : nullptr};
    return cuda::attention(op.y, op.x, op.kv, op.spec, plan, stream_.get);
}

cudaError_t CudaBackend::execute(const Op& op) {
    const cudaStream_t s = stream_.get;
    const auto quantized = [&](const MatrixView& rows, int groups) {
        return quantized_rows(quantized_memory_.as<void>(), rows.rows, groups);
    };
    const QuantizedRows q = quantized(op.y, op.quantize_groups);
    const QuantizedRows* also = op.quantize_groups > 0 ? &q : nullptr;
    switch (op.kind) {
        case Kind::embed:
            return cuda::embed(op.y, inputs_.tokens(), op.w, op.value, s);
        case Kind::rms_norm:
            return cuda::rms_norm(op.y, op.x, op.vector, op.value, op.accumulate, also, s);
        case Kind::head_norm:
            return cuda::head_norm(op.x, op.vector, op.head_dim, op.value, s);
        case Kind::quantize:
            return quantize_rows(op.x, quantized(op.x, op.quantize_groups), s);
        case Kind::matmul: {
            const MatmulOut out{op.y.data, op.y.stride, op.vector, op.accumulate};
            if (!is_quantized(op.w.dtype)) return matmul_floats(op.w, op.x, out, s);
            return matmul_quantized(op.w, quantized(op.x, op.w.groups), op.x.rows, out, s);
        }
        case Kind::rope_store_kv:
            return cuda::rope_store_kv(op.y, op.x, op.extra, op.kv, op.spec, inputs_.view(op.rope),
                                       inputs_.places(), s);
        case Kind::attention:
            return execute_attention(op);
        case Kind::gated:
            return cuda::gated(op.y, op.x, op.act, also, s);
        case Kind::gather_outputs:
            return gather_rows(op.y, op.x, inputs_.output_rows(), s);
        case Kind::softcap:
            return cuda::softcap(op.x, op.value, s);
    }
    return cudaErrorInvalidValue;
}

/// False when a stop was seen or the card failed.
bool CudaBackend::launch_all(const std::atomic<bool>* stop) {
    const bool paced = inputs_.n_rows() > kFewRows;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
        if (stop != nullptr && stop->load(std::memory_order_relaxed)) return false;
        if (paced && i % kPace == 0) {
            Event& mark = paced_[i / kPace % 2];
            if (!check_error(cudaEventSynchronize(mark.get), "computing")) return false;
            if (!check_error(cudaEventRecord(mark.get, stream_.get), "computing")) return false;
        }
        if (!is_empty(ops_[i]) && !check_error(execute(ops_[i]), "starting a kernel")) return false;
    }
    return true;
}

GraphKey CudaBackend::graph_key() const {
    GraphKey key;
    key.add(quantized_memory_.as<void>(), partials_.as<void>(), inputs_.tokens());
    const auto add_view = [&](const MatrixView& m) { key.add(m.data, m.rows, m.cols, m.stride); };
    for (const Op& op : ops_) {
        key.add(op.kind, op.accumulate, op.w.base, op.w.rows, op.w.cols, op.w.dtype, op.vector,
                op.value, op.head_dim, op.quantize_groups, op.act);
        add_view(op.y);
        add_view(op.x);
        add_view(op.extra);
        key.add(op.kv.keys, op.kv.values, op.kv.page_bytes, op.kv.dtype);
        const AttentionSpec& s = op.spec;
        key.add(s.n_heads, s.n_kv_heads, s.head_dim, s.scale, s.softcap, s.window);
        key.add(op.rope.cos, op.rope.sin, op.rope.n_dims, op.rope.half_split);
        key.add(op.tiles.items, op.tiles.n_items, op.tiles.n_parts);
    }
    // Where the kernels find tokens, pages and the rest.
    const RowPlaces p = inputs_.places();
    key.add(p.position, p.first_page, p.pages, inputs_.output_rows());
    return key;
}

bool CudaBackend::launch_graph(const std::string& key) {
    const cudaGraphExec_t graph = graphs_.find(key);
    if (graph == nullptr) return false;
    ++n_graph_steps_;
    return check_error(cudaGraphLaunch(graph, stream_.get), "starting a step");
}

/// Captures the step. False when that cannot be done: graphs are then no longer tried.
bool CudaBackend::capture(const std::string& key) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaError_t e = cudaStreamBeginCapture(stream_.get, cudaStreamCaptureModeThreadLocal);
    if (e == cudaSuccess) {
        for (const Op& op : ops_)
            if (e == cudaSuccess && !is_empty(op)) e = execute(op);
        const cudaError_t ended = cudaStreamEndCapture(stream_.get, &graph);
        if (e == cudaSuccess) e = ended;
    }
    if (e == cudaSuccess) e = cudaGraphInstantiate(&exec, graph, 0);
    if (graph != nullptr) cudaGraphDestroy(graph);
    use_graphs_ = e == cudaSuccess;
    cudaGetLastError();
    if (use_graphs_) graphs_.add(key, exec);
    return use_graphs_;
}

bool CudaBackend::run(const std::atomic<bool>* stop) {
    ++n_steps_;
    bool ok = failure_.empty() &&
              check_error(quantized_memory_.reserve(quantized_bytes_), "working memory") &&
              check_error(partials_.reserve(partial_bytes_), "working memory") &&
              check_error(inputs_.upload(stream_.get), "copying the inputs of a step");
    const bool may_be_graph = ok && use_graphs_ && inputs_.n_rows() > 0 &&
                              inputs_.n_rows() <= kFewRows && inputs_.n_outputs() > 0;
    const std::string key = may_be_graph ? graph_key().bytes() : std::string();
    const bool known = may_be_graph &&
                       (graphs_.find(key) != nullptr || (graphs_.seen_before(key) && capture(key)));
    ok = ok && (known ? launch_graph(key) : launch_all(stop));
    if (failure_.empty()) ok = check_error(cudaStreamSynchronize(stream_.get), "computing") && ok;
    ops_.clear();
    return ok;
}

}  // namespace hearth::cuda
