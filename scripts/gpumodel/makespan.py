"""Places the CTAs of a grid on a chip, step by step, with their turns.

    makespan(heads=16, owners=64, inners=64, places=216, step=5600)
"""

import heapq
from collections import defaultdict

from gpumodel.chips import ModelError


def makespan(heads: int, owners: int, inners: int, places: int, step: float,
             hand_over: float = 1500.0, causal: bool = True, rotated: bool = False) -> float:
    """Returns the time of a grid over that of the same steps without any waiting.

    A head has `owners` blocks of keys, of a CTA each, and `inners` blocks of queries, which every
    CTA visits; `places` CTAs run at once, and the last keys start first. A step takes `step`
    cycles. It adds to its queries after the CTA of the next keys has, which is seen `hand_over`
    cycles later. If `rotated`, CTAs without a mask start at different queries.
    """
    first = [owner * inners // owners if causal or rotated else 0 for owner in range(owners)]
    visits = [[(start + n) % inners for n in range(inners - start if causal else inners)]
              for start in first]
    begins = {inner: max(owner for owner in range(owners) if first[owner] <= inner)
              for inner in range(inners)}  # the CTA that adds first
    items = [(head, owner) for head in range(heads) for owner in reversed(range(owners))]
    ended: dict[tuple[int, int, int], float] = {}
    waiting: dict[tuple[int, int, int], list[tuple[float, int, int]]] = defaultdict(list)
    ready = [(0.0, n, 0) for n in range(min(places, len(items)))]
    started, end = len(ready), 0.0
    while ready:
        time, item, visit = heapq.heappop(ready)
        head, owner = items[item]
        if visit == len(visits[owner]):
            end = max(end, time)
            if started < len(items):
                heapq.heappush(ready, (time, started, 0))
                started += 1
            continue
        inner, done = visits[owner][visit], time + step
        before = head, (owner + 1) % owners, inner
        if owner != begins[inner]:
            if before not in ended:
                waiting[before].append((time, item, visit))
                continue
            done = max(done, ended[before] + hand_over)
        ended[head, owner, inner] = done
        for later in [(done, item, visit + 1), *waiting.pop((head, owner, inner), [])]:
            heapq.heappush(ready, later)
    if waiting:
        raise ModelError(f"expected places for the {owners} CTAs of a head, which wait for each "
                         f"other, found {places}")
    return end / (heads * sum(map(len, visits)) * step / places)
