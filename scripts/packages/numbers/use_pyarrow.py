# uses: tables, compute kernels, Parquet with compression, a partitioned dataset, CSV, threads
# expect: 6 [1, 2, 3] ['a', 'b'] 3 7
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq

table = pa.table({"key": ["a", "b", "a"], "n": [1, 2, 3]})
pq.write_table(table, "t.parquet", compression="zstd")
ds.write_dataset(table, "parts", format="parquet", partitioning=["key"])
parts = ds.dataset("parts", partitioning=["key"]).to_table(use_threads=True)
pa.csv.write_csv(table, "t.csv")
print(
    pc.sum(table["n"]).as_py(),
    pq.read_table("t.parquet", use_threads=True)["n"].to_pylist(),
    sorted(set(parts["key"].to_pylist())),
    pa.csv.read_csv("t.csv").num_rows,
    pc.sum(pc.add(table["n"].slice(1), 1)).as_py(),
)
