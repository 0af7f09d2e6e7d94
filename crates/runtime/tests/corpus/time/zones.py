from datetime import datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

ny, berlin = ZoneInfo("America/New_York"), ZoneInfo("Europe/Berlin")
meeting = datetime(2024, 3, 10, 9, tzinfo=ny)
print(meeting, "=", meeting.astimezone(berlin), "=", meeting.astimezone(ZoneInfo("Asia/Kolkata")))
before = datetime(2024, 3, 31, 1, 59, tzinfo=berlin)
print(before.utcoffset(), (before + timedelta(minutes=1)).utcoffset(), before.tzname())
try:
    ZoneInfo("Mars/Phobos")
except ZoneInfoNotFoundError as e:
    print("not found:", e)
