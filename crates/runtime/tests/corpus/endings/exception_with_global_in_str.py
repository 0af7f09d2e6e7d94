UNITS = "metres"


class TooFar(Exception):
    def __str__(self):
        return f"{self.args[0]} {UNITS}"


try:
    raise TooFar(5)
except TooFar as e:
    print(e)
raise TooFar(7)
