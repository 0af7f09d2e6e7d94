# uses: a regression by formula, a table of results, a time series model
# expect: [3.0, 2.0] 1.0 True 5
import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

noise = np.random.default_rng(0).normal(size=100) * 1e-9
frame = pd.DataFrame({"x": np.arange(100.0)})
frame["y"] = 3 + 2 * frame.x + noise
fit = smf.ols("y ~ x", frame).fit()
series = pd.Series(np.arange(60.0) + noise[:60], index=pd.date_range("2020-01-01", periods=60, freq="MS"))
model = sm.tsa.ExponentialSmoothing(series, trend="add", initialization_method="estimated").fit()
print(
    fit.params.round(6).tolist(),
    round(fit.rsquared, 6),
    "R-squared" in str(fit.summary()),
    len(model.forecast(5)),
)
