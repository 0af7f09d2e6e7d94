# uses: plots with text and formulas, PNG, SVG and PDF files, an animation as GIF
# expect: PNG (640, 480) True True 5 agg
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from PIL import Image

x = np.linspace(0, 10, 200)
figure, axes = plt.subplots()
(line,) = axes.plot(x, np.sin(x), label=r"$\sin(x)$")
axes.set(title="Wave: äöü", xlabel="time", ylabel="height")
axes.legend()
for kind in ("png", "svg", "pdf"):
    figure.savefig(f"wave.{kind}")
animation = FuncAnimation(figure, lambda i: line.set_ydata(np.sin(x + i)), frames=5)
animation.save("wave.gif", writer="pillow")
plt.close("all")
picture = Image.open("wave.png")
print(
    picture.format,
    picture.size,
    open("wave.svg").read().rstrip().endswith("</svg>"),
    open("wave.pdf", "rb").read(4) == b"%PDF",
    Image.open("wave.gif").n_frames,
    matplotlib.get_backend().lower(),
)
