import sqlite3
import threading

with sqlite3.connect("app.db") as db:
    print(db.execute("pragma journal_mode=wal").fetchone()[0])
    db.execute("create table hits (worker int, n int)")


def work(worker):
    con = sqlite3.connect("app.db", timeout=30)
    for n in range(20):
        with con:
            con.execute("insert into hits values (?, ?)", (worker, n))
    con.close()


threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
with sqlite3.connect("app.db") as db:
    print(db.execute("select worker, count(*) from hits group by worker order by worker").fetchall())
