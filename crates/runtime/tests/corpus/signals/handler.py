import os
import signal


def handler(number, frame):
    print("received", signal.Signals(number).name, "in", frame.f_code.co_name)


def main():
    for s in (signal.SIGUSR1, signal.SIGHUP, signal.SIGTERM):
        signal.signal(s, handler)
        os.kill(os.getpid(), s)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    os.kill(os.getpid(), signal.SIGUSR1)
    print(signal.getsignal(signal.SIGUSR1).name)


main()
