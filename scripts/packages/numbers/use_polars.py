# uses: lazy queries on threads, joins, windows, Parquet and CSV files
# expect: [('a', 4), ('b', 6)] [10, 20] 4 [1.0, 0.75]
import polars as pl

frame = pl.DataFrame({"key": ["a", "b", "a", "b"], "n": [1, 2, 3, 4]})
frame.write_parquet("f.parquet")
frame.write_csv("f.csv")
sums = pl.scan_parquet("f.parquet").group_by("key").agg(pl.col("n").sum()).sort("key").collect()
joined = sums.join(pl.DataFrame({"key": ["a", "b"], "w": [10, 20]}), on="key").sort("key")
share = frame.filter(pl.col("key") == "a").select(pl.col("n") / pl.col("n").cum_sum()).to_series()
print(sums.rows(), joined["w"].to_list(), pl.scan_csv("f.csv").collect().height, share.to_list())
