# files: sales.csv
import csv
import statistics as st

with open("sales.csv") as f:
    units = [int(r["units"]) for r in csv.DictReader(f)]
print(units, st.mean(units), st.median(units), st.mode([1, 1, 2]))
print(round(st.stdev(units), 6), round(st.pvariance(units), 6), st.quantiles(units, n=4))
print(st.linear_regression(range(5), [1, 3, 5, 7, 9]), round(st.correlation([1, 2, 3], [3, 2, 1]), 3))
print(round(st.NormalDist(100, 15).cdf(130), 6), st.fmean([1, 2, 4]), round(st.geometric_mean([1, 4, 16]), 6))
st.mean([])
