class Rude(Exception):
    def __str__(self):
        raise RuntimeError("no comment")


print("about to raise")
raise Rude
