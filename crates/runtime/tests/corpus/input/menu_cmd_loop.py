# stdin: add 3 4\nmul 6 7\nbogus\nhistory\nhelp add\nquit\nadd 1 1\n
import cmd
import sys


class Calc(cmd.Cmd):
    intro = "Welcome."
    prompt = "calc> "

    def __init__(self):
        super().__init__()
        self.use_rawinput = False
        self.past = []

    def do_add(self, line):
        "add A B: the sum"
        a, b = map(int, line.split())
        self.past.append(a + b)
        print(a + b)

    def do_mul(self, line):
        a, b = map(int, line.split())
        self.past.append(a * b)
        print(a * b)

    def do_history(self, _):
        print(self.past)

    def do_quit(self, _):
        print("Bye.")
        return True


Calc().cmdloop()
sys.exit(len(Calc().past))
