import csv
import io
import sys

rows = [["name", "quote"], ["Ada", 'she said "hi"'], ["Bob", "a,b;c"], ["Zoë", "two\nlines"]]
csv.writer(sys.stdout, lineterminator="\n").writerows(rows)
csv.writer(sys.stdout, delimiter=";", quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
buffer = io.StringIO()
w = csv.DictWriter(buffer, fieldnames=["a", "b"], extrasaction="ignore")
w.writeheader()
w.writerow({"a": 1, "b": None, "c": 3})
print(repr(buffer.getvalue()))
print(csv.Sniffer().sniff("a|b|c\n1|2|3\n").delimiter)
