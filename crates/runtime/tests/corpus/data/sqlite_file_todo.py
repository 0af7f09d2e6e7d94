# args: add write-tests
import contextlib
import sqlite3
import sys
from pathlib import Path

DB = Path(__file__).with_name("todo.db")


def connect():
    db = sqlite3.connect(DB)
    db.execute("create table if not exists todo (id integer primary key, title text, done int default 0)")
    return db


def main(argv):
    with contextlib.closing(connect()) as db, db:
        if argv[0] == "add":
            db.execute("insert into todo (title) values (?)", (argv[1],))
    with contextlib.closing(connect()) as db:
        for row in db.execute("select id, title, done from todo"):
            print(*row, sep=" | ")
    print(DB.exists())


main(sys.argv[1:] or ["list"])
