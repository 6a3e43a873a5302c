"""Places the CTAs of a grid on a chip.

    makespan(heads=16, owners=32, inners=128, places=216, hand_over=0.3)
"""

import heapq
from collections import defaultdict


def makespan(heads: int, owners: int, inners: int, places: int, hand_over: float = 0.0,
             causal: bool = True, together: int = 0) -> tuple[float, float]:
    """Returns the time of a grid, and a lower bound for every order of its CTAs, both over the
    time of all steps divided by the places.

    A head has `owners` blocks, of a CTA each, which visit `inners` blocks in steps; under a causal
    mask the last owner visits all of them, the first one the fewest. `places` CTAs run at once. As
    in passes/ToGPU/FragmentKernel.cpp, `together` heads (0: all) start their last owners, then
    those before. A step adds to its block after the CTA of the next owner has, which is seen
    `hand_over` steps later; without a hand-over, no CTA waits.
    """
    steps = [-(-(owner + 1) * inners // owners) if causal else inners for owner in range(owners)]
    together = together or heads
    free = [0.0] * places  # the times from which places are free
    ended: dict[tuple[int, int], float] = defaultdict(lambda: -hand_over)  # the last additions
    for first in range(0, heads, together):
        for owner in reversed(range(owners)):
            for head in range(first, min(heads, first + together)):
                time = heapq.heappop(free)
                for block in ((head, inner) for inner in range(steps[owner])):
                    time = ended[block] = max(time + 1, ended[block] + hand_over)
                heapq.heappush(free, time)
    longest = sorted(steps * heads, reverse=True)
    # Of n * places + 1 CTAs, one place has n + 1.
    bound = max(sum(longest[n * (places - 1):n * places + 1])
                for n in range(-(-len(longest) // places)))
    ideal = sum(longest) / places
    return max(free) / ideal, max(bound / ideal, 1.0)
