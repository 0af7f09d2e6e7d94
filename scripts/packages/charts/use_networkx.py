# uses: shortest paths, centrality, communities, a drawing
# expect: ['a', 'b', 'd'] 3 Mr. Hi 34 True
import os

import matplotlib.pyplot as plt
import networkx as nx

roads = nx.Graph()
roads.add_weighted_edges_from([("a", "b", 1), ("b", "d", 2), ("a", "c", 2), ("c", "d", 4)])
club = nx.karate_club_graph()
groups = nx.community.greedy_modularity_communities(club)
nx.draw(club, nx.spring_layout(club, seed=1), with_labels=True)
plt.savefig("club.png")
print(
    nx.dijkstra_path(roads, "a", "d"),
    len(groups),
    club.nodes[0]["club"],
    len(nx.pagerank(club)),
    os.path.getsize("club.png") > 10_000,
)
