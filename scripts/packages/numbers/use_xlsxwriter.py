# uses: a workbook with formats and a line chart, read again by openpyxl
# expect: ['day', 'visits'] 350 True
import zipfile

import openpyxl
import xlsxwriter

with xlsxwriter.Workbook("visits.xlsx") as book:
    sheet, bold = book.add_worksheet("visits"), book.add_format({"bold": True})
    sheet.write_row(0, 0, ["day", "visits"], bold)
    for row, visits in enumerate((100, 250), start=1):
        sheet.write_row(row, 0, [f"day {row}", visits])
    chart = book.add_chart({"type": "line"})
    chart.add_series({"values": "=visits!$B$2:$B$3"})
    sheet.insert_chart("D2", chart)
rows = list(openpyxl.load_workbook("visits.xlsx").active.values)
has_chart = any("chart" in name for name in zipfile.ZipFile("visits.xlsx").namelist())
print(list(rows[0]), sum(row[1] for row in rows[1:]), has_chart)
