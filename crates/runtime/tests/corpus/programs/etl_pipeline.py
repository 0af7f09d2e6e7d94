# files: sales.csv
"""Extract from CSV, transform, load into SQLite, report."""

import csv
import logging
import sqlite3
from contextlib import closing
from dataclasses import astuple, dataclass
from datetime import date
from decimal import Decimal

logging.basicConfig(filename="etl.log", level=logging.INFO, format="%(message)s", force=True)


@dataclass(frozen=True)
class Sale:
    day: str
    region: str
    product: str
    units: int
    cents: int


def extract(path):
    with open(path, newline="") as f:
        yield from csv.DictReader(f)


def transform(rows):
    for r in rows:
        yield Sale(date.fromisoformat(r["date"]).isoformat(), r["region"], r["product"], int(r["units"]), int(Decimal(r["price"]) * 100))


def load(db, sales):
    db.execute("create table sale (day, region, product, units, cents)")
    db.executemany("insert into sale values (?,?,?,?,?)", map(astuple, sales))
    db.commit()
    logging.info("loaded %d", db.execute("select count(*) from sale").fetchone()[0])


with closing(sqlite3.connect("sales.db")) as db:
    load(db, transform(extract("sales.csv")))
    query = "select product, sum(units), sum(units*cents)/100.0 from sale group by product order by 3 desc"
    for product, units, revenue in db.execute(query):
        print(f"{product:<10}{units:>5}{revenue:>10.2f}")
print(open("etl.log").read().strip())
