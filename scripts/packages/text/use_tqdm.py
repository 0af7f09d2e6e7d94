# uses: a progress bar over a loop, to a file; threads
# expect: 45 True [0, 1, 4]
import io

from tqdm import tqdm
from tqdm.contrib.concurrent import thread_map

shown = io.StringIO()
total = sum(tqdm(range(10), file=shown, desc="adding"))
print(total, "100%" in shown.getvalue(), thread_map(lambda n: n * n, range(3), max_workers=2, file=shown))
