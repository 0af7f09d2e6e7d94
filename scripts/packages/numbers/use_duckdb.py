# uses: SQL over a data frame, a CSV file and a database on disk, window functions, Parquet
# expect: [('a', 4), ('b', 2)] 3 [(1, 1), (2, 3), (3, 6)] 3
import duckdb
import pandas as pd

frame = pd.DataFrame({"key": ["a", "b", "a"], "n": [1, 2, 3]})
frame.to_csv("f.csv", index=False)
sums = duckdb.sql("SELECT key, sum(n)::INT FROM frame GROUP BY key ORDER BY key").fetchall()
with duckdb.connect("kept.db") as db:
    db.execute("CREATE TABLE t AS SELECT * FROM read_csv('f.csv')")
    db.execute("COPY t TO 't.parquet' (FORMAT parquet)")
    running = db.execute("SELECT n, sum(n) OVER (ORDER BY n)::INT FROM t ORDER BY n").fetchall()
with duckdb.connect("kept.db", read_only=True) as db:
    count = db.execute("SELECT count(*) FROM t").fetchone()[0]
print(sums, count, running, len(duckdb.sql("FROM 't.parquet'").df()))
