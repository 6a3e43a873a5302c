"""Times PyTorch implementations of the encodings on a GPU, at the sizes of gpu_check.py.

The peers are SDPA without a bias, FlexAttention compiled with the score_mod of the encoding, SDPA
with the bias as a dense tensor, and stick-breaking as dense tensor operations. A peer that fails is
recorded with its error. Times are medians of device events. The number of operations is the same as
for pe: 2 (D + Dv) forward and 2 (3 D + 2 Dv) backward per unmasked pair.
"""

import math
import statistics


def pairs(length, heads, batch, strict):
    return batch * heads * (length * (length - 1) // 2 if strict else length * (length + 1) // 2)


def slopes(heads, torch, device):
    return torch.tensor([2.0 ** (-8.0 * (h + 1) / heads) for h in range(heads)], device=device)


def bias_functions(torch, encoding, heads, device):
    """Returns bias(h, i, j) with parameter tensors, for FlexAttention and for a dense bias."""
    rates = slopes(heads, torch, device)
    if encoding == "alibi":
        return lambda h, i, j: rates[h] * (j - i).float()
    if encoding == "kerple_log":
        r1 = torch.full((heads,), 1.0, device=device, requires_grad=True)
        r2 = torch.full((heads,), 0.5, device=device, requires_grad=True)
        return lambda h, i, j: -r1[h] * torch.log1p(r2[h] * (i - j).abs().float())
    if encoding == "t5":
        table = torch.randn(32, heads, device=device).mul_(0.02).requires_grad_()

        def t5(h, i, j):
            distance = (i - j).clamp(min=0)
            scaled = torch.log(distance.clamp(min=1).float() / 16) / math.log(128 / 16)
            large = 16 + (scaled * 16).int()
            return table[torch.where(distance < 16, distance, large.clamp(max=31)).long(), h]
        return t5
    if encoding in ("fire", "fire_2x32"):
        hidden = [torch.randn(32, 1, device=device), torch.randn(32, device=device)]
        if encoding == "fire_2x32":
            hidden += [torch.randn(32, 32, device=device) / 6, torch.randn(32, device=device)]
        out = torch.randn(heads, 32, device=device) / 6
        for tensor in hidden + [out]:
            tensor.requires_grad_()

        def fire(h, i, j):
            top = torch.log1p(0.1 * (i - j).abs().float())
            x = top / torch.log1p(0.1 * i.float().clamp(min=512.0))
            y = torch.relu(x[..., None] * hidden[0][:, 0] + hidden[1])
            if len(hidden) == 4:
                y = torch.relu(y @ hidden[2].T + hidden[3])
            return (y * out[h]).sum(-1)
        return fire
    return None


def timed(torch, call, repeats):
    for _ in range(3):
        call()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3)
    return statistics.median(times)


def both(torch, function, inputs, cotangent, repeats):
    """Returns the seconds of forward and backward."""
    with torch.no_grad():
        forward = timed(torch, lambda: function(*inputs), repeats)

    def step():
        for tensor in inputs:
            tensor.grad = None
        function(*inputs).backward(cotangent)
    return forward, timed(torch, step, repeats) - forward


def dense_bias(torch, bias, heads, length, device):
    h = torch.arange(heads, device=device)[:, None, None]
    i = torch.arange(length, device=device)[None, :, None]
    j = torch.arange(length, device=device)[None, None, :]
    rows = [bias(head, i[0], j[0]) for head in h[:, 0, 0]]
    full = torch.stack(rows).to(torch.bfloat16)
    return full.masked_fill(j > i, float("-inf"))[None]


def stick_breaking(torch, q, k, v):
    length = q.shape[-2]
    logits = (q @ k.transpose(-1, -2)).float() / math.sqrt(q.shape[-1])
    strict = torch.ones(length, length, device=q.device, dtype=torch.bool).tril(-1)
    left = torch.where(strict, -torch.nn.functional.softplus(logits), 0.0)
    newer = left.flip(-1).cumsum(-1).flip(-1) - left
    weights = torch.where(strict, (torch.nn.functional.logsigmoid(logits) + newer).exp(), 0.0)
    return weights.to(v.dtype) @ v


def peers_of(torch, encoding, heads, length, device):
    """Yields (name, function of q, k, v) of each peer."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def sdpa(backend, q, k, v, **arguments):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, **arguments)

    if encoding in ("nope", "rope"):
        yield "SDPA (flash)", lambda q, k, v: sdpa(SDPBackend.FLASH_ATTENTION, q, k, v,
                                                   is_causal=True)
    if encoding in ("stick_breaking", "rse"):
        yield "dense", lambda q, k, v: stick_breaking(torch, q, k, v)
        return
    bias = bias_functions(torch, encoding, heads, device)
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length, device=device)
    flex = torch.compile(flex_attention)

    def score(s, b, h, i, j):
        return s + bias(h, i, j) if bias else s
    yield "FlexAttention", lambda q, k, v: flex(q, k, v, score_mod=score if bias else None,
                                                block_mask=mask)
    if bias and length * length * heads * 2 < 20e9:
        dense = dense_bias(torch, bias, heads, length, device).detach().requires_grad_()
        yield "SDPA + dense bias (efficient)", lambda q, k, v: sdpa(
            SDPBackend.EFFICIENT_ATTENTION, q, k, v, attn_mask=dense)


def measure(directory, options, clock, sizes_for):
    try:
        import torch
    except ImportError:
        print("gpu-check: error: PyTorch is not installed; `peers` requires it")
        return 1
    if not torch.cuda.is_available():
        print("gpu-check: error: PyTorch finds no GPU")
        return 1
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    for length in options.lengths:
        for dim in options.dims:
            batch, heads = sizes_for(length, dim)
            shape = (batch, heads, length, dim)
            inputs = [torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=True)
                      for _ in range(3)]
            cotangent = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
            for encoding in options.only:
                what = f"{encoding} D={dim} S={length}"
                if not clock.allows(what):
                    continue
                count = pairs(length, heads, batch, encoding in ("stick_breaking", "rse"))
                try:
                    for name, function in peers_of(torch, encoding, heads, length, "cuda"):
                        record = {"part": "peers", "peer": name, "encoding": encoding, "dim": dim,
                                  "length": length, "batch": batch, "heads": heads}
                        try:
                            forward, backward = both(torch, function, inputs, cotangent,
                                                     options.repeats)
                            record["forward_gflops"] = 4 * dim * count / forward * 1e-9
                            record["backward_gflops"] = 10 * dim * count / backward * 1e-9
                        except Exception as error:  # continue with the other peers
                            record["error"] = f"{type(error).__name__}: {str(error)[:200]}"
                        directory.append(record)
                        print(what, name, record.get("error") or " ".join(
                            f"{half} {record[half + '_gflops'] / 1e3:.1f} TFLOP/s"
                            for half in ("forward", "backward")), flush=True)
                except Exception as error:
                    directory.append({"part": "peers", "peer": "FlexAttention",
                                      "encoding": encoding, "dim": dim, "length": length,
                                      "error": str(error)[:200]})
                    print(what, "FlexAttention", error)
                torch.cuda.empty_cache()
    clock.report()
    return 0
