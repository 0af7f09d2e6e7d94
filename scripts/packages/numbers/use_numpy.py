# uses: linear algebra on two threads, FFT, memory maps, seeded random numbers
# expect: [3.0, 5.0] 1000.0 True 45 [5, 6, 7]
import numpy as np

solution = np.linalg.solve([[2.0, 1.0], [1.0, -1.0]], [11.0, -2.0])
big = np.ones((1000, 1000))
signal = np.sin(2 * np.pi * 50 * np.arange(1000) / 1000)
peak = np.abs(np.fft.rfft(signal)).argmax()
mapped = np.memmap("numbers.bin", dtype="i4", mode="w+", shape=10)
mapped[:] = range(10)
mapped.flush()
drawn = sorted(np.random.default_rng(7).choice(10, 3, replace=False).tolist())
print(
    solution.tolist(), (big @ big)[0, 0], bool(peak == 50), int(np.fromfile("numbers.bin", "i4").sum()), drawn
)
