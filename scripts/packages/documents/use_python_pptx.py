# package: python-pptx
# uses: slides with text, a table and a chart, written and read again
# expect: 2 Results True True
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

slides = Presentation()
first = slides.slides.add_slide(slides.slide_layouts[0])
first.shapes.title.text = "Results"
second = slides.slides.add_slide(slides.slide_layouts[5])
data = CategoryChartData()
data.categories = ["a", "b"]
data.add_series("sales", (1, 2))
place = Inches(1), Inches(2), Inches(6), Inches(4)
second.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *place, data)
second.shapes.add_table(2, 2, *place)
slides.save("results.pptx")
again = Presentation("results.pptx").slides
shapes = list(again[1].shapes)
print(
    len(again), again[0].shapes.title.text, any(s.has_chart for s in shapes), any(s.has_table for s in shapes)
)
