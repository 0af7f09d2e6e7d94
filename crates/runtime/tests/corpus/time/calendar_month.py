import calendar
import locale

print(calendar.month(2024, 2))
print(calendar.isleap(1900), calendar.monthrange(2023, 2), calendar.day_name[0])
print(locale.setlocale(locale.LC_ALL, "C"))
print(locale.format_string("%.2f", 1234567.891, grouping=True))
try:
    locale.setlocale(locale.LC_ALL, "xx_YY.UTF-8")
except locale.Error as e:
    print("locale.Error:", e)
print(calendar.TextCalendar(calendar.SUNDAY).formatweekheader(3))
