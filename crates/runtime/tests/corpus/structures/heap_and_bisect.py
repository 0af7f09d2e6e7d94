import bisect
import heapq
from graphlib import CycleError, TopologicalSorter

graph = {"A": {"B": 1, "C": 4}, "B": {"C": 2, "D": 5}, "C": {"D": 1}, "D": {}}


def dijkstra(start):
    dist, heap = {start: 0}, [(0, start)]
    while heap:
        d, node = heapq.heappop(heap)
        if d > dist[node]:
            continue
        for nxt, w in graph[node].items():
            if d + w < dist.get(nxt, float("inf")):
                dist[nxt] = d + w
                heapq.heappush(heap, (d + w, nxt))
    return dist


print(dijkstra("A"))
scores = [33, 99, 77, 70, 89, 90, 100]
print(["FDCBA"[bisect.bisect([60, 70, 80, 90], s)] for s in scores], heapq.nlargest(2, scores))
print(list(heapq.merge([1, 4], [2, 3], [0])))
print(list(TopologicalSorter({"deploy": {"test"}, "test": {"build"}, "build": set()}).static_order()))
try:
    list(TopologicalSorter({"a": {"b"}, "b": {"a"}}).static_order())
except CycleError as e:
    print("cycle of", len(e.args[1]))
