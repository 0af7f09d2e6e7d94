import sqlite3

conn = sqlite3.connect(":memory:")
conn.row_factory = sqlite3.Row
cur = conn.cursor()
cur.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT UNIQUE, age INTEGER)")
cur.executemany("INSERT INTO users (name, age) VALUES (?, ?)", [("Alice", 30), ("Bob", 25), ("Carol", 41)])
conn.commit()
for row in cur.execute("SELECT * FROM users WHERE age > ? ORDER BY age", (26,)):
    print(dict(row))
try:
    cur.execute("INSERT INTO users (name) VALUES ('Bob')")
except sqlite3.IntegrityError as e:
    print("IntegrityError:", e)
print(cur.execute("SELECT AVG(age), COUNT(*) FROM users").fetchone()[:])
