# stdin: add Buy milk\nadd Write report\ndone 1\nlist\nremove 9\nexit\n
import json
import os

FILE = "todos.json"


def load():
    if os.path.exists(FILE):
        with open(FILE) as f:
            return json.load(f)
    return []


def save(todos):
    with open(FILE, "w") as f:
        json.dump(todos, f)


while True:
    todos = load()
    try:
        command, _, rest = input("> ").partition(" ")
    except EOFError:
        break
    if command == "add":
        todos.append({"title": rest, "done": False})
    elif command == "done":
        todos[int(rest) - 1]["done"] = True
    elif command == "list":
        print()
        for i, t in enumerate(todos, 1):
            print(f"{i}. [{'x' if t['done'] else ' '}] {t['title']}")
    elif command == "remove":
        try:
            todos.pop(int(rest) - 1)
        except IndexError:
            print("no such item")
    elif command == "exit":
        print("bye")
        break
    save(todos)
