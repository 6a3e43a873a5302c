"""Times calls of the Python package and of its peers alternately.

bench-python and bench-decode use these functions.
"""

import platform
import statistics
import time

import pe_attention as pe

ENCODINGS = {
    "nope": lambda heads: None,
    "alibi": lambda heads: pe.nn.ALiBi(heads),
    "learned slopes": lambda heads: pe.nn.ALiBi(heads, learned=True),
    "t5": lambda heads: pe.nn.T5(heads),
    "kerple_log": lambda heads: pe.nn.KerpleLog(heads),
    "fire": lambda heads: pe.nn.FIRE(heads),
    "rope": lambda heads: pe.nn.RoPE(),
}


def seconds(call, repeats, clock=time.perf_counter):
    """Returns the mean time of `repeats` calls."""
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats


def alternate(calls, rounds, clock=time.perf_counter, least=0.002):
    """Times the calls one after the other in each of `rounds` rounds, after two warm-up calls of
    each. Calls that take less than `least` seconds are repeated. Returns a list of times for each
    call."""
    for _ in range(2):
        for call in calls:
            call()
    repeats = [max(1, int(least / max(seconds(call, 1), 1e-6))) for call in calls]
    times = [[seconds(call, n, clock) for call, n in zip(calls, repeats)] for _ in range(rounds)]
    return [list(column) for column in zip(*times)]


def paired(times, others):
    """Returns the median of the ratios times / others, which were measured in the same rounds."""
    return statistics.median(a / b for a, b in zip(times, others))


def processor():
    with open("/proc/cpuinfo") as lines:
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()}, {len(names)} cores"
