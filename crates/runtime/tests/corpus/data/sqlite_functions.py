import sqlite3
import statistics


class Median:
    def __init__(self):
        self.values = []

    def step(self, value):
        self.values.append(value)

    def finalize(self):
        return statistics.median(self.values)


db = sqlite3.connect(":memory:")
db.create_function("initials", 1, lambda s: "".join(w[0] for w in s.split()))
db.create_aggregate("median", 1, Median)
db.executescript("""
    create table p (name text, score real);
    insert into p values ('Grace Hopper', 9.5), ('Alan Turing', 8), ('Ada Lovelace', 10);
""")
print(db.execute("select initials(name) from p order by name").fetchall())
print(db.execute("select median(score) from p").fetchone())
print(db.execute("with recursive c(x) as (select 1 union all select x*2 from c where x < 100) select group_concat(x) from c").fetchone()[0])
print("\n".join(line for line in db.iterdump() if "INSERT" in line))
