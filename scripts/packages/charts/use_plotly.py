# uses: a figure from a data frame, as JSON and as a page of HTML
# expect: scatter [3, 1, 2] True markers
import json

import pandas as pd
import plotly.express as px

frame = pd.DataFrame({"x": [1, 2, 3], "y": [3, 1, 2]})
figure = px.scatter(frame, x="x", y="y", title="points")
figure.write_html("points.html", include_plotlyjs="cdn")
shown = json.loads(figure.to_json())["data"][0]
print(shown["type"], figure.data[0].y.tolist(), "points" in open("points.html").read(), shown["mode"])
