"""The limits of a GPU, and the products of a decode step by cuBLAS, one JSON object for each measurement.

The yardstick of benches/kernels: the same shapes, weights that together do not fit in the cache, recorded graphs.
"""
import json, torch

SHAPES = [("qkv", 1152, 896), ("output", 896, 896), ("gate_up", 9728, 896), ("down", 896, 4864), ("head", 151936, 896)]

def print_line(**line):
    print(json.dumps(line), flush=True)

def graph_us(work, launches, replays=20):
    """Microseconds of each of `launches` launches of `work` in a replayed graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work(); work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    best = float("inf")
    for _ in range(5):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(replays):
            graph.replay()
        end.record(); torch.cuda.synchronize()
        best = min(best, start.elapsed_time(end) * 1e3 / replays / launches)
    return best

properties = torch.cuda.get_device_properties(0)
print_line(part="card", name=properties.name, sms=properties.multi_processor_count, gib=round(properties.total_memory / 2**30, 1))
a = torch.empty(2**30, dtype=torch.float32, device="cuda").normal_()
b = torch.empty_like(a)
us = graph_us(lambda: b.copy_(a), 1, 5)
print_line(part="copy", tb_per_s=round(2 * a.nbytes / us / 1e6, 2))
us = graph_us(lambda: a.sum(), 1, 5)
print_line(part="read", tb_per_s=round(a.nbytes / us / 1e6, 2))
del a, b
for kind, name in [(torch.bfloat16, "bf16"), (torch.float32, "tf32"), (torch.float32, "f32")]:
    torch.set_float32_matmul_precision("high" if name == "tf32" else "highest")
    x = torch.randn(8192, 8192, device="cuda", dtype=kind)
    us = graph_us(lambda: x @ x, 1, 2)
    print_line(part="product of 8192", kind=name, tflop_per_s=round(2 * 8192**3 / us / 1e6, 1))
    for rows in [1, 4, 16, 64, 256, 3072]:
        for label, outputs, inputs in SHAPES[:4 if rows > 256 else 5]:
            copies = max(1, min(128, -(-(256 << 20) // (outputs * inputs * x.element_size()))))
            weights = [torch.randn(outputs, inputs, device="cuda", dtype=kind) for _ in range(copies)]
            y = torch.randn(rows, inputs, device="cuda", dtype=kind)
            def work():
                for weight in weights:
                    torch.nn.functional.linear(y, weight)
            us = graph_us(work, copies)
            print_line(part="product", by="cublas", shape=label, rows=rows, kind=name, us=round(us, 2),
                gb_per_s=round(outputs * inputs * x.element_size() / us / 1e3),
                tflop_per_s=round(2 * rows * outputs * inputs / us / 1e6, 1))
            del weights
