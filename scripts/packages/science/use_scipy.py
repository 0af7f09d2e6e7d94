# uses: optimization, integration, statistics, sparse systems, interpolation, signals
# expect: [1.0, 1.0] 2.0 0.0 True [1.0, 2.0] 2.25 10
import numpy as np
from scipy import integrate, interpolate, optimize, signal, sparse, stats
from scipy.sparse.linalg import spsolve

lowest = optimize.minimize(optimize.rosen, [1.3, 0.7], jac=optimize.rosen_der, method="BFGS")
area, _ = integrate.quad(np.sin, 0, np.pi)
distance = stats.ks_2samp([1, 2, 3], [1, 2, 3]).statistic
test = stats.ttest_ind(np.arange(50.0), np.arange(50.0) + 20)
solved = spsolve(sparse.csc_matrix([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 8.0]))
curve = interpolate.CubicSpline([0, 1, 2, 3], [0, 1, 4, 9])
peaks, _ = signal.find_peaks(np.sin(np.linspace(0, 20 * np.pi, 1000)))
print(
    lowest.x.round(3).tolist(),
    round(area, 9),
    float(distance),
    bool(test.pvalue < 1e-6),
    solved.tolist(),
    round(float(curve(1.5)), 9),
    len(peaks),
)
