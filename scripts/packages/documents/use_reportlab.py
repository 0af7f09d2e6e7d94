# uses: a report with paragraphs, a table, a chart and two pages, read again by pypdf
# expect: 2 True True
from pypdf import PdfReader
from reportlab.graphics.charts.barcharts import VerticalBarChart
from reportlab.graphics.shapes import Drawing
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table

styles, drawing, chart = getSampleStyleSheet(), Drawing(300, 150), VerticalBarChart()
chart.data = [[1, 3, 2]]
drawing.add(chart)
parts = [Paragraph("Quarterly report", styles["Title"]), Table([["a", "b"], [1, 2]]), drawing, PageBreak()]
SimpleDocTemplate("report.pdf").build([*parts, Paragraph("The end", styles["Normal"])])
pages = PdfReader("report.pdf").pages
print(len(pages), "Quarterly report" in pages[0].extract_text(), "The end" in pages[1].extract_text())
