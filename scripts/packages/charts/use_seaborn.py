# uses: a statistical plot with a legend, a heat map, a grid of plots
# expect: ['lunch', 'dinner'] True 4 True
import os

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

sns.set_theme()
frame = pd.DataFrame(
    {"meal": ["lunch", "dinner"] * 20, "bill": range(40), "tip": [n * 0.1 for n in range(40)]}
)
axes = sns.scatterplot(frame, x="bill", y="tip", hue="meal")
labels = [text.get_text() for text in axes.get_legend().get_texts()]
plt.savefig("scatter.png")
plt.figure()
sns.heatmap(frame[["bill", "tip"]].corr(), annot=True).figure.savefig("heat.png")
grid = sns.pairplot(frame, hue="meal")
grid.savefig("grid.png")
print(labels, os.path.getsize("scatter.png") > 5000, grid.axes.size, os.path.getsize("heat.png") > 5000)
