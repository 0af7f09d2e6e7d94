# package: python-dateutil
# uses: parsing, recurring dates, time zones, relative dates
# expect: 2024-03-31 10:00:00+02:00 ['2024-01-31', '2024-03-31', '2024-05-31'] 2024-02-29
from datetime import date

from dateutil import parser, rrule, tz
from dateutil.relativedelta import relativedelta

moment = parser.parse("31 March 2024 10:00").replace(tzinfo=tz.gettz("Europe/Berlin"))
ends = rrule.rrule(rrule.MONTHLY, count=3, bymonthday=31, dtstart=parser.parse("2024-01-31"))
print(moment, [str(day.date()) for day in ends], date(2024, 1, 31) + relativedelta(months=1))
