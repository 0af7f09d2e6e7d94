# uses: a workbook with formulas, styles and a chart, written and read again
# expect: Report =SUM(A1:A3) True 1 [1, 2, 3]
from openpyxl import Workbook, load_workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.styles import Font

book = Workbook()
sheet = book.active
sheet.title = "Report"
for number in (1, 2, 3):
    sheet.append([number])
sheet["A4"] = "=SUM(A1:A3)"
sheet["A4"].font = Font(bold=True)
chart = BarChart()
chart.add_data(Reference(sheet, min_col=1, min_row=1, max_row=3))
sheet.add_chart(chart, "C1")
book.save("report.xlsx")
again = load_workbook("report.xlsx")["Report"]
print(
    again.title,
    again["A4"].value,
    again["A4"].font.b,
    len(again._charts),
    [row[0] for row in again.iter_rows(max_row=3, values_only=True)],
)
