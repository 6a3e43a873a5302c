"""Places the CTAs of a grid on a chip, step by step, with their turns.

    makespan(heads=16, owners=64, inners=64, places=216, step=5600)
"""

import heapq

from gpumodel.chips import ModelError


def makespan(heads: int, owners: int, inners: int, places: int, step: float,
             hand_over: float = 1500.0, causal: bool = True, rotated: bool = False) -> float:
    """Returns the time of a grid over that of the same steps without any waiting.

    A head has `owners` blocks of keys, of a CTA each, and `inners` blocks of queries, which every
    CTA visits; `places` CTAs run at once, and the last keys start first. A step takes `step`
    cycles. It adds to its queries after the CTA of the next keys has, which is seen `hand_over`
    cycles later. If `rotated`, CTAs without a mask start at different queries.
    """
    is_ring = rotated and not causal  # the CTAs of a head wait for each other
    if is_ring and places < owners:
        raise ModelError(f"expected places for the {owners} CTAs of a head, which wait for each "
                         f"other, found {places}")
    first = [owner * inners // owners if causal or rotated else 0 for owner in range(owners)]
    order = list(reversed(range(owners)))
    free = [0.0] * places  # the times from which places are free
    for _ in range(heads):
        ended: dict[int, float] = {}  # the last addition to a block of queries
        for started in [order] if is_ring else [[owner] for owner in order]:
            times = {owner: heapq.heappop(free) for owner in started}
            for visit in range(inners):  # an addition that another waits for comes before it
                for owner in started:
                    inner = first[owner] + visit
                    if causal and inner >= inners:
                        continue
                    inner %= inners
                    done = max(times[owner] + step, ended.get(inner, -hand_over) + hand_over)
                    ended[inner] = times[owner] = done
            for time in times.values():
                heapq.heappush(free, time)
    visits = sum(inners - start if causal else inners for start in first)
    return max(free) / (heads * visits * step / places)
