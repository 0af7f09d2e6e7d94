import os
import time
from datetime import datetime

os.environ["TZ"] = "Europe/Paris"
time.tzset()
print(time.tzname, time.timezone)
print(datetime.fromtimestamp(0).isoformat(), time.strftime("%H:%M %Z", time.localtime(1_700_000_000)))
print(datetime.fromtimestamp(1_700_000_000).astimezone().isoformat())
os.environ["TZ"] = "UTC"
time.tzset()
print(time.ctime(0), time.mktime((2024, 1, 1, 0, 0, 0, 0, 0, 0)))
