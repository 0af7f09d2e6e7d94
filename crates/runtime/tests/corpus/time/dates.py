from datetime import date, datetime, timedelta, timezone

d = date(2024, 2, 28)
print(d + timedelta(days=2), d.strftime("%A %d %B %Y"), d.isocalendar()[:])
print((date(2024, 12, 25) - d).days, d.replace(year=2023).weekday())
dt = datetime(2024, 3, 10, 12, 30, tzinfo=timezone.utc)
print(dt.isoformat(), dt.timestamp(), dt.astimezone(timezone(timedelta(hours=5, minutes=30))))
print(datetime.strptime("03/Jan/2024:10:11:12 +0200", "%d/%b/%Y:%H:%M:%S %z"))
print(datetime.fromisoformat("2024-01-01T00:00:00+00:00") < dt, str(timedelta(seconds=100000)))
try:
    date(2023, 2, 29)
except ValueError as e:
    print(e)
